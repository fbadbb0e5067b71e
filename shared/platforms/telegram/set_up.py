"""Set up a Telegram bot: its token, and its webhook or none."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from shared.errors import Rejected
from shared.platforms.set_up import CALL_SECONDS, AskedSecret, Checked, Secrets, SetUp, Way
from shared.platforms.telegram.api import Api

TOKEN, WEBHOOK_SECRET = "telegram/bot_token", "telegram/webhook_secret"  # names
UPDATES = ("message", "callback_query")


class TelegramSetUp(SetUp):
    """One bot of @BotFather."""

    def steps(self, way: Way) -> Sequence[str]:
        return [
            f"Open {way.link_url}/BotFather, send /newbot, and choose a name and a user name.",
            "For a topic per handoff in your private chat: /mybots, your bot, Bot Settings, Threaded Mode, on.",
            "Copy the token that @BotFather shows.",
        ]

    def asked(self, way: Way) -> Sequence[AskedSecret]:  # noqa: ARG002  # the interface
        return [AskedSecret(TOKEN, "Bot token", r"[0-9]{1,20}:[A-Za-z0-9_-]{20,100}", "123456789:AAE…")]

    def generated(self, way: Way) -> Sequence[str]:
        """A relay shares a secret with the service that is new with each start."""
        return () if way.uses_relay else (WEBHOOK_SECRET,)

    def check(self, name: str, secrets: Secrets, way: Way) -> Checked:
        api = Api(way.api_url, secrets[name])
        me = api.ask(lambda bot: bot.get_me(), seconds=CALL_SECONDS)
        topics = "" if me.has_topics_enabled else " Threaded Mode is off: handoffs arrive in the chat itself."
        return Checked(f"Your bot is @{me.username}.{topics}")

    def used_by(self, secrets: Secrets, way: Way) -> str:
        info = Api(way.api_url, secrets[TOKEN]).ask(lambda bot: bot.get_webhook_info(), seconds=CALL_SECONDS)
        return "" if info.url in ("", way.webhook_url) else str(urlsplit(info.url).netloc or "another service")

    def connect(self, secrets: Secrets, way: Way) -> Sequence[str]:
        api = Api(way.api_url, secrets[TOKEN])
        if way.uses_relay:
            api.delete_webhook()
            return ()
        if not secrets.get(WEBHOOK_SECRET):
            raise Rejected("Telegram's webhook secret is not set")
        api.set_webhook(way.webhook_url, secrets[WEBHOOK_SECRET], UPDATES)
        return ()
