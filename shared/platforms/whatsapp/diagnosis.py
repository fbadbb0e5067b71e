"""Diagnosis of a WhatsApp number: its token, where its webhooks go, and its home."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shared.domain.routes import Place
from shared.errors import PlatformError
from shared.platforms.diagnosis import Diagnosis
from shared.platforms.whatsapp import SPEC
from shared.ports.platforms import Finding
from shared.ports.secrets import Secrets

if TYPE_CHECKING:
    from shared.platforms.whatsapp.api import Api

_NEW_TOKEN = "Set whatsapp/access_token and whatsapp/phone_number_id as docs/platforms/whatsapp.md says."  # noqa: S105  # advice
_MOST_SPECIFIC_FIRST = ("phone_number", "whatsapp_business_account", "application")


def diagnose(
    api: "Api", secrets: Secrets, home: Place | None, *, webhook_url: str, seconds: float
) -> Sequence[Finding]:
    """See `Platform.diagnose`."""
    found = Diagnosis(SPEC, seconds=seconds)
    try:
        number = api.number(seconds=found.left)
    except PlatformError as error:
        found.trouble("bot", error, _NEW_TOKEN)
        return found.findings
    found.good("bot", f"{number.get('verified_name') or 'The bot'} answers at {number['display_phone_number']}.")
    found.signing({"whatsapp/app_secret": secrets.get("whatsapp/app_secret")})
    _webhook(found, webhook_of(number), webhook_url)
    if home is not None:
        if SPEC.is_chat_id(home.chat):
            found.good("home", f"Handoffs arrive in the chat with +{home.chat}.")
        else:
            fix = "Choose your number, digits only: handoff config home whatsapp NUMBER."
            found.bad("home", "Your home is not a phone number.", fix)
    return found.findings


def webhook_of(number: Mapping[str, Any]) -> str | None:
    """Where WhatsApp posts what is said to this number, if it tells."""
    configured = number.get("webhook_configuration") or {}
    return next((configured[name] for name in _MOST_SPECIFIC_FIRST if configured.get(name)), None)


def _webhook(found: Diagnosis, actual: str | None, wanted: str) -> None:
    fix = f"In the app's settings under WhatsApp → Configuration, set the callback URL to {wanted} and subscribe to messages."
    if actual is None:
        found.unsure("webhook", "WhatsApp did not say where it posts to.", fix)
    else:
        found.address(actual, wanted, certain=False, fix=fix)
