"""WhatsApp, by Meta's Cloud API."""

from shared.platforms.spec import PlatformSpec

SPEC = PlatformSpec(
    name="whatsapp",
    title="WhatsApp",
    threads=False,
    adapter="shared.platforms.whatsapp.adapter:WhatsApp",
    set_up="shared.platforms.whatsapp.set_up:WhatsAppSetUp",
    secrets=(
        "whatsapp/access_token",
        "whatsapp/app_secret",
        "whatsapp/verify_token",
        "whatsapp/phone_number_id",
    ),
    # A chat is the one with a person, so it has the person's number: digits only, with the country code.
    chat_id=r"[1-9][0-9]{6,14}",
    person_id=r"[1-9][0-9]{6,14}",
    api_url="https://graph.facebook.com/v23.0",
    link_url="https://wa.me",
    lazy_imports=("shared.platforms.whatsapp.api",),
    body_limit=3 * 1024 * 1024,
    window=24 * 3600,
)
