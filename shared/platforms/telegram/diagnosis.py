"""Diagnosis of a Telegram bot: its token, its webhook, and its rights at home."""

from typing import TYPE_CHECKING

from shared.domain.routes import Place
from shared.platforms.diagnosis import Diagnosis
from shared.platforms.spec import is_loopback

if TYPE_CHECKING:
    from telegram import ChatFullInfo, ChatMember, User, WebhookInfo

    from shared.platforms.telegram.api import Api

_NEW_TOKEN = "Get the bot's token from @BotFather, then: handoff setup telegram"  # noqa: S105  # advice
_OTHER_HOME = (
    "Write to the bot, or add it to the group; or make your private chat with it your home: handoff link telegram"
)
_TOPICS = {
    "private": "Switch on the bot's Threaded Mode in @BotFather.",
    "group": "Switch on Topics in the group's settings.",
    "supergroup": "Switch on Topics in the group's settings.",
    "channel": "Choose your private chat with the bot: handoff link telegram",
}
_RECENT_SECONDS = 600  # a webhook error that is older may be fixed already


class TelegramDiagnosis(Diagnosis):
    """One bot."""

    api: "Api"
    signing = ("telegram/webhook_secret",)
    bot_fix, home_fix = _NEW_TOKEN, _OTHER_HOME
    me: "User"

    def check_bot(self) -> str:
        self.me = self.api.ask(lambda bot: bot.get_me(), seconds=self.left)
        return f"@{self.me.username} answers."

    def check_webhook(self) -> None:
        info = self.api.ask(lambda bot: bot.get_webhook_info(), seconds=self.left)
        self._check_posts(info)
        # Without a list of updates Telegram posts presses, too.
        if info.url and info.allowed_updates and "callback_query" not in info.allowed_updates:
            detail = "Telegram does not post presses of buttons: they have no effect."
            self.bad("buttons", detail, self.set_up)

    def check_home(self, home: Place) -> None:
        chat = self.api.ask(lambda bot: bot.get_chat(home.chat), seconds=self.left)
        member = None
        if chat.type != "private":
            member = self.api.ask(lambda bot: bot.get_chat_member(home.chat, self.me.id), seconds=self.left)
        name = chat.title or f"the chat with {chat.full_name}"
        if member is not None and member.status in ("left", "kicked"):
            self.bad("home", f"The bot is not in {name}.", _OTHER_HOME)
            return
        self.good("home", f"The bot is in {name}.")
        self._check_thread(chat, member)
        if member is not None:
            self._check_group_messages(member)

    def _check_posts(self, info: "WebhookInfo") -> None:
        wanted, fix = self.asked.webhook_url, self.set_up
        waiting = f"{info.pending_update_count} waiting" if info.pending_update_count else "none waiting"
        failed_at = info.last_error_date.timestamp() if info.last_error_date else 0
        if not info.url and is_loopback(wanted):
            detail = f"No webhook is set: messages arrive while a relay fetches them ({waiting})."
            self.unsure("webhook", detail, "The service does so while it runs: handoff up")
        elif not info.url:
            self.bad("webhook", f"No webhook is set, so no message arrives ({waiting}).", fix)
        elif info.allowed_updates and "message" not in info.allowed_updates:
            self.bad("webhook", "Telegram posts events, but not messages.", fix)
        elif info.pending_update_count and self.asked.now / 1000 - failed_at < _RECENT_SECONDS:
            why = (info.last_error_message or "no reason given").rstrip(".")
            self.bad("webhook", f"Telegram's last try to post failed: {why} ({waiting}).", fix)
        else:
            self.address(info.url, certain=self.asked.certain, fix=fix)

    def _check_thread(self, chat: "ChatFullInfo", member: "ChatMember | None") -> None:
        has_topics = self.me.has_topics_enabled if member is None else chat.is_forum
        if not has_topics:
            detail = "Your home has no topics: handoffs arrive in the chat itself."
            self.bad("thread", detail, _TOPICS.get(chat.type, _OTHER_HOME))
        elif member is None or member.status == "creator" or getattr(member, "can_manage_topics", False):
            self.good("thread", "The bot may open topics at home.")
        else:
            detail = "The bot may not open topics at home: handoffs arrive in the chat itself."
            self.bad("thread", detail, "Make it an administrator of the group, with the right to manage topics.")

    def _check_group_messages(self, member: "ChatMember") -> None:
        """In privacy mode a bot that is not an administrator receives only commands."""
        if member.status in ("administrator", "creator") or self.me.can_read_all_group_messages:
            self.good("messages", "The bot receives all messages in the group.")
        else:
            fix = (
                "In @BotFather: /setprivacy, Disable; then add the bot to the group again. Or make it an administrator."
            )
            self.bad("messages", "The bot receives only commands in this group.", fix)
