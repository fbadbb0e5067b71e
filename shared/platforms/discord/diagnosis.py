"""Diagnosis of a Discord application: its token, its webhooks, and its permissions at home."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shared.domain.routes import Place
from shared.errors import PlatformError
from shared.platforms.diagnosis import Diagnosis
from shared.platforms.discord import permissions
from shared.platforms.discord.threads import ANNOUNCEMENTS, FORUM, MEDIA, TEXT, THREADS

if TYPE_CHECKING:
    from shared.platforms.discord.rest import Api

_PUBLIC_KEY, _RELAY_SECRET = "discord/public_key", "discord/relay_secret"  # names
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


class DiscordDiagnosis(Diagnosis):
    """One application with two webhooks: interactions from Discord, messages from the relay. Each needs its secret."""

    api: "Api"
    signing = (_PUBLIC_KEY, _RELAY_SECRET)
    bot_fix, home_fix = _NEW_TOKEN, _OTHER_HOME
    application: Mapping[str, Any]

    def check_bot(self) -> str:
        self.application = self._ask("/applications/@me")
        return f"{self.application['bot']['username']} answers."

    def check_webhook(self) -> None:
        endpoint = self.application.get("interactions_endpoint_url") or ""
        public_key = self.secrets.get(_PUBLIC_KEY)
        if endpoint and not public_key:
            detail = "Discord posts slash commands and presses, and they are refused: discord/public_key is not set."
            self.bad("webhook", detail, self.set_up)
        elif public_key and public_key.lower() != self.application.get("verify_key", public_key).lower():
            detail = "discord/public_key belongs to another application: all webhooks of Discord are refused."
            self.bad("webhook", detail, self.set_up)
        elif endpoint:
            self.address(endpoint, certain=self.asked.certain, fix=self.set_up)
        elif self.secrets.get(_RELAY_SECRET):
            detail = "No Interactions Endpoint URL is set: slash commands and presses arrive through the relay."
            self.good("webhook", detail)
        else:
            self.bad("webhook", "No Interactions Endpoint URL is set, so no message arrives.", self.set_up)
        self._check_messages()

    def _check_messages(self) -> None:
        if not self.secrets.get(_RELAY_SECRET):
            detail = "Ordinary messages need the relay, and it has no secret: only slash commands and presses arrive."
            run = f"python -m local.chats.relays discord --url {self.asked.webhook_url.partition('/webhooks/')[0]}"
            self.unsure("messages", detail, f"To receive them, set the secret discord/relay_secret and run `{run}`.")
        elif not int(self.application.get("flags") or 0) & _READS_MESSAGES:
            detail = "Ordinary messages arrive without their text: the bot has no message content intent."
            self.bad("messages", detail, "On the application's page Bot, switch on Message Content Intent.")
        else:
            detail = "Ordinary messages arrive while the relay runs; whether it runs cannot be checked here."
            self.good("messages", detail)

    def check_home(self, home: Place) -> None:
        channel = self._ask("/channels/{channel_id}", channel_id=home.thread or home.chat)
        self.good("home", f"The bot sees #{channel['name']}." if channel.get("name") else "The bot sees the chat.")
        if (needs := _NEEDS.get(channel["type"])) is None:
            kind = "A thread" if channel["type"] in THREADS else "This kind of chat"
            detail = f"{kind} cannot hold threads: handoffs arrive in the chat itself."
            self.bad("thread", detail, "Choose a text or forum channel: handoff config home discord CHANNEL.")
            return
        me = self.application["bot"]["id"]
        try:
            guild = self._ask("/guilds/{guild_id}", guild_id=channel["guild_id"])
            member = self._ask("/guilds/{guild_id}/members/{user_id}", guild_id=guild["id"], user_id=me)
        except PlatformError as error:
            self.trouble("thread", error, "Invite the bot to the server again, with its permissions.")
            return
        held = permissions.of_member(guild, member, channel)
        if lacking := [name for name, bit in needs.items() if not held & bit]:
            fix = "Give them to the bot's role, in the channel's settings under Permissions."
            self.bad("thread", f"At home the bot lacks the permissions: {', '.join(lacking)}.", fix)
        else:
            self.good("thread", "The bot may open threads at home, and write in them.")
        if held & permissions.ATTACH_FILES:
            self.good("files", "The bot may post files at home.")
        else:
            fix = "Give the bot's role the permission Attach Files, or invite the bot again with the link of handoff setup."
            self.bad("files", "The bot may not post files at home: it lacks the permission Attach Files.", fix)

    def _ask(self, path: str, **ids: Any) -> Any:
        return self.api.call("GET", path, seconds=self.left, **ids)
