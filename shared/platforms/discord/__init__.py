"""Discord."""

from shared.platforms.spec import PlatformSpec

SPEC = PlatformSpec(
    name="discord",
    title="Discord",
    threads=True,
    adapter="shared.platforms.discord.adapter:Discord",
    set_up="shared.platforms.discord.set_up:DiscordSetUp",
    secrets=("discord/bot_token",),
    # Interactions are verified with the public key, relayed messages with the relay secret; either is enough to be used.
    optional_secrets=("discord/public_key", "discord/relay_secret"),
    chat_id=r"[1-9][0-9]{0,19}",
    person_id=r"[1-9][0-9]{0,19}",
    api_url="https://discord.com/api/v10",
    link_url="https://discord.com/channels",
    lazy_imports=("shared.platforms.discord.rest",),
)
