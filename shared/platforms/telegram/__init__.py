"""Telegram."""

from shared.platforms.spec import PlatformSpec

SPEC = PlatformSpec(
    name="telegram",
    title="Telegram",
    threads=True,
    adapter="shared.platforms.telegram.adapter:Telegram",
    set_up="shared.platforms.telegram.set_up:TelegramSetUp",
    secrets=("telegram/bot_token", "telegram/webhook_secret"),
    # The second form is the name of a public group.
    chat_id=r"-?[1-9][0-9]{0,15}|@[A-Za-z][A-Za-z0-9_]{3,31}",
    person_id=r"[1-9][0-9]{0,15}",
    api_url="https://api.telegram.org/bot",
    link_url="https://t.me",
    lazy_imports=("shared.platforms.telegram.api", "shared.platforms.telegram.render"),
)
