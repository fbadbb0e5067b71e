"""The slash commands that the application has registered; until it does, those of the seeded world."""

from typing import Any

from local.chats.discord.wire import refusals
from local.chats.simulator.stage import Stage

JSON = dict[str, Any]
STRING = 3


class Commands:
    """Registered commands, kept in the world's own table: name → the option that takes the rest of the line."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def listed(self) -> list[JSON]:
        return [self._shown(name) for name in sorted(self._stage.commands)]

    def replace(self, wanted: list[JSON]) -> list[JSON]:
        """Sets the whole list, as a bulk overwrite does."""
        named = {self._name(command): _option(command) for command in wanted}
        self._stage.commands.clear()
        self._stage.commands.update(named)
        return self.listed()

    def add(self, command: JSON) -> JSON:
        name = self._name(command)
        self._stage.commands[name] = _option(command)
        return self._shown(name)

    def _name(self, command: JSON) -> str:
        name = str(command.get("name") or "")
        refusals.check_length("name", name, shortest=1, longest=32)
        return name

    def _shown(self, name: str) -> JSON:
        option = self._stage.commands[name]
        options = [{"type": STRING, "name": option, "description": option, "required": False}] if option else []
        return {
            "id": command_id(self._stage, name),
            "application_id": self._stage.world.workspace.discord_application,
            "version": "1",
            "default_member_permissions": None,
            "type": 1,
            "name": name,
            "name_localizations": None,
            "description": name,
            "description_localizations": None,
            "dm_permission": True,
            "contexts": None,
            "integration_types": [0],
            "options": options,
            "nsfw": False,
        }


def command_id(stage: Stage, name: str) -> str:
    return str(5 * 10**18 + sorted(stage.commands).index(name))


def _option(command: JSON) -> str | None:
    """The first option that takes text."""
    options = command.get("options") or []
    return next((str(option["name"]) for option in options if option.get("type") == STRING), None)
