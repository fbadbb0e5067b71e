"""Who and what is there when the simulator starts: two people, one bot, and the chats they share on each platform."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from shared.domain.commands import COMMANDS as CHAT_COMMANDS

Platform = Literal["telegram", "slack", "discord"]
PLATFORMS: tuple[Platform, ...] = ("telegram", "slack", "discord")
BOT = "bot"


@dataclass(frozen=True)
class Person:
    """Somebody who writes: `key` names them in the simulator, `ids` on each platform."""

    key: str
    first_name: str
    last_name: str
    handle: str
    ids: Mapping[Platform, str]

    @property
    def name(self) -> str:
        return f"{self.first_name} {self.last_name}".strip()


@dataclass(frozen=True)
class Place:
    """A chat as it exists before anybody spoke. `kind` is the platform's own word for it."""

    platform: Platform
    id: str
    title: str
    kind: str
    people: tuple[str, ...]
    home: bool = False


@dataclass(frozen=True)
class Workspace:
    """Ids of the things around the chats: a Slack workspace and app, a Discord server and application."""

    slack_team: str = "T0HANDOFF"
    slack_app: str = "A0HANDOFF"
    slack_bot: str = "B0HANDOFF"
    discord_guild: str = "8001000000000000001"
    discord_application: str = "9001000000000000001"


OWNER = Person(
    "owner", "Olivia", "Owner", "olivia", {"telegram": "7001", "slack": "U7001", "discord": "7001000000000000001"}
)
STRANGER = Person(
    "stranger", "Sam", "Stranger", "sam", {"telegram": "7002", "slack": "U7002", "discord": "7002000000000000002"}
)
ROBOT = Person(
    BOT, "Handoff", "", "handoff_bot", {"telegram": "9001", "slack": "U9001", "discord": "9001000000000000001"}
)

_BOTH = ("owner", "stranger")
PLACES = (
    Place("telegram", "7001", "Olivia and the bot", "private", ("owner",), home=True),
    Place("telegram", "-1001000000001", "Project forum", "forum", _BOTH),
    Place("telegram", "-1002", "Friends", "group", _BOTH),
    Place("telegram", "7002", "Sam and the bot", "private", ("stranger",)),
    Place("slack", "C0HOME", "agents", "channel", _BOTH, home=True),
    Place("slack", "D0OWNER", "Olivia and the bot", "im", ("owner",)),
    Place("slack", "C0GENERAL", "general", "channel", _BOTH),
    Place("discord", "6001000000000000001", "agents", "text", _BOTH, home=True),
    Place("discord", "6002000000000000002", "ideas", "forum", _BOTH),
    Place("discord", "6003000000000000003", "Olivia and the bot", "dm", ("owner",)),
)

# What Discord's own client would turn into a slash command: name → the option that takes the rest of the line.
COMMANDS: Mapping[str, str | None] = {
    "say": "text",
    **{
        command.name: command.argument.name if command.argument else None
        for command in CHAT_COMMANDS.values()
        if command.listed
    },
}


# What a Slack app may do that was made from the manifest in docs/platforms/slack.md.
SLACK_SCOPES = (
    *("chat:write", "channels:history", "groups:history", "im:history", "mpim:history"),
    *("im:write", "app_mentions:read", "commands"),
)


@dataclass(frozen=True)
class World:
    """Everything seeded; replace a field to rehearse another world (`replace(World(), telegram_topics=False)`)."""

    people: tuple[Person, ...] = (OWNER, STRANGER, ROBOT)
    places: tuple[Place, ...] = PLACES
    workspace: Workspace = field(default_factory=Workspace)
    commands: Mapping[str, str | None] = field(default_factory=lambda: dict(COMMANDS))
    telegram_topics: bool = True  # Threaded Mode of the bot: topics in private chats
    telegram_admin: bool = True  # the bot may manage topics in the forum
    slack_scopes: tuple[str, ...] = SLACK_SCOPES
    slack_uninvited: frozenset[str] = frozenset()  # channels that the bot is not in

    def person(self, key: str) -> Person:
        """The person of that key; KeyError names the ones there are."""
        for person in self.people:
            if person.key == key:
                return person
        raise KeyError(f"nobody is called {key!r}; there are {', '.join(p.key for p in self.people)}")
