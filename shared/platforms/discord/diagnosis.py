"""Diagnosis of a Discord application: its token, its webhooks, and its permissions at home."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shared.domain.routes import Place
from shared.errors import PlatformError
from shared.platforms.diagnosis import Diagnosis
from shared.platforms.discord import SPEC, permissions
from shared.platforms.discord.threads import ANNOUNCEMENTS, FORUM, MEDIA, TEXT, THREADS
from shared.ports.platforms import Finding
from shared.ports.secrets import Secrets

# One read-only call: a path with placeholders, their values, and a time-out.
Ask = Callable[..., Any]
Json = Mapping[str, Any]

_NEW_TOKEN = "Reset the token on the application's page Bot, then: handoff setup discord"  # noqa: S105  # advice
_OTHER_HOME = "Let the bot see the channel, or choose another one: handoff config home discord CHANNEL."
_READS_MESSAGES = 1 << 18 | 1 << 19  # the message content intent, of a large and of a small application
_SHARED_NEEDS = {
    "View Channel": permissions.VIEW_CHANNEL,
    "Read Message History": permissions.READ_MESSAGE_HISTORY,
    "Send Messages in Threads": permissions.SEND_MESSAGES_IN_THREADS,
}
_IN_CHANNEL = {
    "Send Messages": permissions.SEND_MESSAGES,
    "Create Public Threads": permissions.CREATE_PUBLIC_THREADS,
    **_SHARED_NEEDS,
}
_IN_FORUM = {"Create Posts": permissions.SEND_MESSAGES, **_SHARED_NEEDS}
_NEEDS = {TEXT: _IN_CHANNEL, ANNOUNCEMENTS: _IN_CHANNEL, FORUM: _IN_FORUM, MEDIA: _IN_FORUM}


def diagnose(
    ask: Ask, secrets: Secrets, home: Place | None, *, webhook_url: str, certain: bool, seconds: float
) -> Sequence[Finding]:
    """See `Platform.diagnose`."""
    found = Diagnosis(SPEC, seconds=seconds)
    try:
        application = ask("/applications/@me", seconds=found.left)
    except PlatformError as error:
        found.trouble("bot", error, _NEW_TOKEN)
        return found.findings
    found.good("bot", f"{application['bot']['username']} answers.")
    webhooks = _Webhooks(secrets.get("discord/public_key"), secrets.get("discord/relay_secret"), webhook_url)
    found.signing({"discord/public_key": webhooks.public_key, "discord/relay_secret": webhooks.relay_secret})
    _commands(found, application, webhooks, certain=certain)
    _messages(found, application, webhooks)
    if home is not None:
        _home(found, ask, home.thread or home.chat, application["bot"]["id"])
    return found.findings


@dataclass(frozen=True)
class _Webhooks:
    """The secrets of the two webhooks: interactions from Discord, and messages from the relay. Each needs its secret."""

    public_key: str | None = field(repr=False)
    relay_secret: str | None = field(repr=False)
    webhook_url: str


def _commands(found: Diagnosis, application: Json, webhooks: _Webhooks, *, certain: bool) -> None:
    endpoint = application.get("interactions_endpoint_url") or ""
    fix = found.set_up
    if endpoint and not webhooks.public_key:
        detail = "Discord posts slash commands and presses, and they are refused: discord/public_key is not set."
        found.bad("webhook", detail, found.set_up)
    elif (
        webhooks.public_key
        and webhooks.public_key.lower() != application.get("verify_key", webhooks.public_key).lower()
    ):
        detail = "discord/public_key belongs to another application: all webhooks of Discord are refused."
        found.bad("webhook", detail, found.set_up)
    elif endpoint:
        found.address(endpoint, webhooks.webhook_url, certain=certain, fix=fix)
    elif webhooks.relay_secret:
        found.good(
            "webhook", "No Interactions Endpoint URL is set: slash commands and presses arrive through the relay."
        )
    else:
        found.bad("webhook", "No Interactions Endpoint URL is set, so no message arrives.", fix)


def _messages(found: Diagnosis, application: Json, webhooks: _Webhooks) -> None:
    if not webhooks.relay_secret:
        detail = "Ordinary messages need the relay, and it has no secret: only slash commands and presses arrive."
        run = f"python -m local.chats.relays discord --url {webhooks.webhook_url.partition('/webhooks/')[0]}"
        found.unsure("messages", detail, f"To receive them, set the secret discord/relay_secret and run `{run}`.")
    elif not int(application.get("flags") or 0) & _READS_MESSAGES:
        detail = "Ordinary messages arrive without their text: the bot has no message content intent."
        found.bad("messages", detail, "On the application's page Bot, switch on Message Content Intent.")
    else:
        found.good("messages", "Ordinary messages arrive while the relay runs; whether it runs cannot be checked here.")


def _home(found: Diagnosis, ask: Ask, channel_id: str, me: str) -> None:
    try:
        channel = ask("/channels/{channel_id}", channel_id=channel_id, seconds=found.left)
    except PlatformError as error:
        found.trouble("home", error, _OTHER_HOME)
        return
    found.good("home", f"The bot sees #{channel['name']}." if channel.get("name") else "The bot sees the chat.")
    if (needs := _NEEDS.get(channel["type"])) is None:
        kind = "A thread" if channel["type"] in THREADS else "This kind of chat"
        detail = f"{kind} cannot hold threads: handoffs arrive in the chat itself."
        found.bad("thread", detail, "Choose a text or forum channel: handoff config home discord CHANNEL.")
        return
    try:
        guild = ask("/guilds/{guild_id}", guild_id=channel["guild_id"], seconds=found.left)
        member = ask("/guilds/{guild_id}/members/{user_id}", guild_id=guild["id"], user_id=me, seconds=found.left)
    except PlatformError as error:
        found.trouble("thread", error, "Invite the bot to the server again, with its permissions.")
        return
    held = permissions.of_member(guild, member, channel)
    if lacking := [name for name, bit in needs.items() if not held & bit]:
        fix = "Give them to the bot's role, in the channel's settings under Permissions."
        found.bad("thread", f"At home the bot lacks the permissions: {', '.join(lacking)}.", fix)
    else:
        found.good("thread", "The bot may open threads at home, and write in them.")
