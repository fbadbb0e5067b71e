"""Diagnosis of a Telegram bot: its token, its webhook, and its rights at home."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shared.domain.routes import Place
from shared.errors import PlatformError
from shared.platforms.diagnosis import Diagnosis, is_out_of_reach
from shared.platforms.telegram import SPEC
from shared.ports.platforms import Finding
from shared.ports.secrets import Secrets

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


def diagnose(
    api: "Api", secrets: Secrets, home: Place | None, *, webhook_url: str, certain: bool, now: int, seconds: float
) -> Sequence[Finding]:
    """See `Platform.diagnose`."""
    found = Diagnosis(SPEC, seconds=seconds)
    try:
        me = api.ask(lambda bot: bot.get_me(), seconds=found.left)
    except PlatformError as error:
        found.trouble("bot", error, _NEW_TOKEN)
        return found.findings
    found.good("bot", f"@{me.username} answers.")
    found.signing({"telegram/webhook_secret": secrets.get("telegram/webhook_secret")})
    try:
        info = api.ask(lambda bot: bot.get_webhook_info(), seconds=found.left)
        _webhook(found, info, webhook_url, certain=certain, now=now)
        _buttons(found, info)
    except PlatformError as error:
        found.trouble("webhook", error, "Try again in a minute.")
    if home is not None:
        _home(found, api, home.chat, me)
    return found.findings


def _webhook(found: Diagnosis, info: "WebhookInfo", wanted: str, *, certain: bool, now: int) -> None:
    fix = found.set_up
    waiting = f"{info.pending_update_count} waiting" if info.pending_update_count else "none waiting"
    failed_at = info.last_error_date.timestamp() if info.last_error_date else 0
    if not info.url and is_out_of_reach(wanted):
        detail = f"No webhook is set: messages arrive while a relay fetches them ({waiting})."
        found.unsure("webhook", detail, "The service does so while it runs: handoff up")
    elif not info.url:
        found.bad("webhook", f"No webhook is set, so no message arrives ({waiting}).", fix)
    elif info.allowed_updates and "message" not in info.allowed_updates:
        found.bad("webhook", "Telegram posts events, but not messages.", fix)
    elif info.pending_update_count and now / 1000 - failed_at < _RECENT_SECONDS:
        why = (info.last_error_message or "no reason given").rstrip(".")
        found.bad("webhook", f"Telegram's last try to post failed: {why} ({waiting}).", fix)
    else:
        found.address(info.url, wanted, certain=certain, fix=fix)


def _buttons(found: Diagnosis, info: "WebhookInfo") -> None:
    """Without a list of updates Telegram posts presses, too."""
    if info.url and info.allowed_updates and "callback_query" not in info.allowed_updates:
        detail = "Telegram does not post presses of buttons: they have no effect."
        found.bad("buttons", detail, found.set_up)


def _home(found: Diagnosis, api: "Api", chat_id: str, me: "User") -> None:
    try:
        chat = api.ask(lambda bot: bot.get_chat(chat_id), seconds=found.left)
        member = None
        if chat.type != "private":
            member = api.ask(lambda bot: bot.get_chat_member(chat_id, me.id), seconds=found.left)
    except PlatformError as error:
        found.trouble("home", error, _OTHER_HOME)
        return
    name = chat.title or f"the chat with {chat.full_name}"
    if member is not None and member.status in ("left", "kicked"):
        found.bad("home", f"The bot is not in {name}.", _OTHER_HOME)
        return
    found.good("home", f"The bot is in {name}.")
    _thread(found, chat, member, me)
    if member is not None:
        _group_messages(found, member, me)


def _thread(found: Diagnosis, chat: "ChatFullInfo", member: "ChatMember | None", me: "User") -> None:
    has_topics = me.has_topics_enabled if member is None else chat.is_forum
    if not has_topics:
        detail = "Your home has no topics: handoffs arrive in the chat itself."
        found.bad("thread", detail, _TOPICS.get(chat.type, _OTHER_HOME))
    elif member is None or member.status == "creator" or getattr(member, "can_manage_topics", False):
        found.good("thread", "The bot may open topics at home.")
    else:
        detail = "The bot may not open topics at home: handoffs arrive in the chat itself."
        found.bad("thread", detail, "Make it an administrator of the group, with the right to manage topics.")


def _group_messages(found: Diagnosis, member: "ChatMember", me: "User") -> None:
    """In privacy mode a bot that is not an administrator receives only commands."""
    if member.status in ("administrator", "creator") or me.can_read_all_group_messages:
        found.good("messages", "The bot receives all messages in the group.")
    else:
        fix = "In @BotFather: /setprivacy, Disable; then add the bot to the group again. Or make it an administrator."
        found.bad("messages", "The bot receives only commands in this group.", fix)
