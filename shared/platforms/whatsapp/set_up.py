"""Set up a number of WhatsApp: its ids and token, and where its webhooks go."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from shared.platforms.set_up import CALL_SECONDS, AskedSecret, Checked, Secrets, SetUp, Way
from shared.platforms.whatsapp.api import Api
from shared.platforms.whatsapp.diagnosis import webhook_of

NUMBER, TOKEN = "whatsapp/phone_number_id", "whatsapp/access_token"  # names
APP_SECRET, VERIFY = "whatsapp/app_secret", "whatsapp/verify_token"  # names


class WhatsAppSetUp(SetUp):
    """One number of one app. The callback URL is entered by hand: a token for messages may not set it.

    Nothing is generated: a person must enter the verify token in the app, too, and secrets are not shown.
    """

    def steps(self, way: Way) -> Sequence[str]:
        public = "WhatsApp posts only to a public address with TLS: start the service with --public-url, too."
        return [
            "Meta's terms forbid general-purpose assistants: read docs/platforms/whatsapp.md first.",
            *([public] if way.uses_relay else []),
            "On developers.facebook.com/apps make an app for WhatsApp. Its page API Setup shows the Phone number ID.",
            "In Business settings, System users: generate a token with whatsapp_business_messaging for the app.",
            "In App settings, Basic: copy the App secret.",
            "Choose a verify token, any random text of 16 characters or more. You enter it here, and later in the app.",
        ]

    def asked(self, way: Way) -> Sequence[AskedSecret]:  # noqa: ARG002  # the interface
        return [
            AskedSecret(NUMBER, "Phone number ID", r"[0-9]{6,20}", "106540352242922"),
            AskedSecret(TOKEN, "Access token", r"[!-~]{20,1000}", "EAA…"),
            AskedSecret(APP_SECRET, "App secret", r"[0-9a-f]{16,64}", "5d41402abc4b2a76…"),
            AskedSecret(VERIFY, "Verify token", r"[!-~]{16,200}", "16 or more random characters"),
        ]

    def check(self, name: str, secrets: Secrets, way: Way) -> Checked:
        """The number and the token are tried together; nothing tells whether the app secret is right."""
        if name != TOKEN:
            return Checked()
        number = _api(secrets, way).number(seconds=CALL_SECONDS)
        return Checked(f"Your bot is {number.get('verified_name') or 'nameless'}, {number['display_phone_number']}.")

    def used_by(self, secrets: Secrets, way: Way) -> str:
        actual = webhook_of(_api(secrets, way).number(seconds=CALL_SECONDS))
        return "" if actual in (None, "", way.webhook_url) else str(urlsplit(actual).netloc or "another service")

    def connect(self, secrets: Secrets, way: Way) -> Sequence[str]:  # noqa: ARG002
        if way.uses_relay:
            return [
                "Start the service with --public-url https://…, then set the callback URL to that and /webhooks/whatsapp."
            ]
        return [
            f"In the app, WhatsApp, Configuration: callback URL {way.webhook_url}, and the verify token that you chose.",
            "There, subscribe to the field messages.",
        ]


def _api(secrets: Secrets, way: Way) -> Api:
    return Api(way.api_url, lambda: secrets[TOKEN], lambda: secrets[NUMBER])
