"""Telegram."""

from shared.platforms.spec import PlatformSpec

SPEC = PlatformSpec(
    name="telegram",
    title="Telegram",
    threads=True,
    adapter="shared.platforms.telegram.adapter:Telegram",
    secrets=("telegram/bot_token", "telegram/webhook_secret"),
    api_url="https://api.telegram.org/bot",
    link_url="https://t.me",
    lazy_imports=("shared.platforms.telegram.api", "shared.platforms.telegram.render", "httpcore", "anyio"),
)
