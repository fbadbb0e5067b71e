"""Diagnosis of a WhatsApp number: its token, where its webhooks go, and its home."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shared.domain.routes import Place
from shared.platforms.diagnosis import Diagnosis
from shared.platforms.whatsapp import SPEC

if TYPE_CHECKING:
    from shared.platforms.whatsapp.api import Api

_NEW_TOKEN = "Set whatsapp/access_token and whatsapp/phone_number_id as docs/platforms/whatsapp.md says."  # noqa: S105  # advice
_MOST_SPECIFIC_FIRST = ("phone_number", "whatsapp_business_account", "application")


class WhatsAppDiagnosis(Diagnosis):
    """One phone number of a business."""

    api: "Api"
    signing = ("whatsapp/app_secret",)
    bot_fix = _NEW_TOKEN
    home_fix = "Choose your number, digits only: handoff config home whatsapp NUMBER."
    number: Mapping[str, Any]

    def check_bot(self) -> str:
        self.number = self.api.number(seconds=self.left)
        return f"{self.number.get('verified_name') or 'The bot'} answers at {self.number['display_phone_number']}."

    def check_webhook(self) -> None:
        page = "In the app's settings under WhatsApp → Configuration"
        fix = f"{page}, set the callback URL to {self.asked.webhook_url} and subscribe to messages."
        if (actual := webhook_of(self.number)) is None:
            self.unsure("webhook", "WhatsApp did not say where it posts to.", fix)
        else:
            self.address(actual, certain=False, fix=fix)

    def check_home(self, home: Place) -> None:
        if SPEC.is_chat_id(home.chat):
            self.good("home", f"Handoffs arrive in the chat with +{home.chat}.")
        else:
            self.bad("home", "Your home is not a phone number.", self.home_fix)


def webhook_of(number: Mapping[str, Any]) -> str | None:
    """Where WhatsApp posts what is said to this number, if it tells."""
    configured = number.get("webhook_configuration") or {}
    return next((configured[name] for name in _MOST_SPECIFIC_FIRST if configured.get(name)), None)
