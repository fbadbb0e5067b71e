"""Set up a Discord application: its token, its commands, and the link that invites it with exactly the needed rights."""

from collections.abc import Sequence
from contextlib import closing
from typing import Any
from urllib.parse import urlencode

from shared.errors import Rejected
from shared.platforms.discord import permissions
from shared.platforms.discord.rest import Api
from shared.platforms.discord.slash_commands import SLASH_COMMANDS
from shared.platforms.set_up import CALL_SECONDS, AskedSecret, Checked, Secrets, SetUp, Way

TOKEN, PUBLIC_KEY, RELAY_SECRET = "discord/bot_token", "discord/public_key", "discord/relay_secret"  # names
PORTAL = "https://discord.com/developers/applications"
RIGHTS = (
    permissions.VIEW_CHANNEL
    | permissions.SEND_MESSAGES
    | permissions.ATTACH_FILES
    | permissions.READ_MESSAGE_HISTORY
    | permissions.CREATE_PUBLIC_THREADS
    | permissions.SEND_MESSAGES_IN_THREADS
)
_READS_MESSAGES = 1 << 18 | 1 << 19
_APPLICATION = "/applications/@me"


class DiscordSetUp(SetUp):
    """One application with a bot."""

    def steps(self, way: Way) -> Sequence[str]:  # noqa: ARG002  # the same for both ways
        return [
            f"Open {PORTAL}, press New Application, and choose a name.",
            "On its page Bot, switch Message Content Intent on, and save.",
            "On the same page press Reset Token, and copy the token.",
        ]

    def asked(self, way: Way) -> Sequence[AskedSecret]:  # noqa: ARG002  # Discord itself tells the public key
        return [AskedSecret(TOKEN, "Bot token", r"[A-Za-z0-9_-]{10,60}\.[A-Za-z0-9_.-]{10,120}", "MTIz….Abc….xyz…")]

    def generated(self, way: Way) -> Sequence[str]:
        """The relay of a deployment runs elsewhere and must be given its secret."""
        return () if way.uses_relay else (RELAY_SECRET,)

    def check(self, name: str, secrets: Secrets, way: Way) -> Checked:
        application = _call(secrets[name], way, "GET", _APPLICATION)
        if not int(application.get("flags") or 0) & _READS_MESSAGES:
            raise Rejected("The bot may not read messages. On the page Bot, switch Message Content Intent on, and save")
        key = {PUBLIC_KEY: application["verify_key"]} if application.get("verify_key") else {}
        return Checked(f"Your bot is {application['bot']['username']}.", key)

    def used_by(self, secrets: Secrets, way: Way) -> str:
        """With an endpoint, slash commands and presses do not reach a relay."""
        endpoint = _call(secrets[TOKEN], way, "GET", _APPLICATION).get("interactions_endpoint_url") or ""
        return "" if endpoint in ("", way.webhook_url) else str(endpoint)

    def connect(self, secrets: Secrets, way: Way) -> Sequence[str]:
        application = _call(secrets[TOKEN], way, "GET", _APPLICATION)
        path = "/applications/{application_id}/commands"
        _call(secrets[TOKEN], way, "PUT", path, SLASH_COMMANDS, application_id=str(application["id"]))
        if (application.get("interactions_endpoint_url") or "") != way.webhook_url:
            _call(secrets[TOKEN], way, "PATCH", _APPLICATION, {"interactions_endpoint_url": way.webhook_url or None})
        asked = {"client_id": application["id"], "scope": "bot applications.commands", "permissions": RIGHTS}
        base = way.link_url.rstrip("/").removesuffix("/channels")
        invite = (
            "Invite the bot to a server of yours: without one in common you cannot write to it.\n"
            f"{base}/oauth2/authorize?{urlencode(asked)}"
        )
        if way.uses_relay:
            return [invite]
        relay = (
            f"Ordinary messages need the relay, somewhere always on, with the bot token and {RELAY_SECRET}: "
            f"python -m local.chats.relays discord --url {way.webhook_url.partition('/webhooks/')[0]}"
        )
        return [invite, relay]


def _call(token: str, way: Way, method: str, path: str, body: Any = None, **ids: str) -> Any:
    with closing(Api(way.api_url, token, limit=CALL_SECONDS, patience=CALL_SECONDS)) as api:
        return api.call(method, path, body, seconds=3 * CALL_SECONDS, **ids)
