"""Set up a Matrix bot: its homeserver, its token, and a pusher if the service has an address."""

from collections.abc import Sequence
from urllib.parse import urlsplit, urlunsplit

from shared.platforms.matrix import SPEC
from shared.platforms.matrix.api import Api
from shared.platforms.set_up import CALL_SECONDS, AskedSecret, Checked, Secrets, SetUp, Way

API_URL, TOKEN, WEBHOOK_SECRET = "matrix/api_url", "matrix/bot_token", "matrix/webhook_secret"


class MatrixSetUp(SetUp):
    """One account on a homeserver."""

    def steps(self, way: Way) -> Sequence[str]:  # noqa: ARG002  # the same for both ways
        return [
            "Register an account for the bot on any homeserver, and log in as the bot, for example with Element.",
            "Copy its access token: in Element, All settings, Help & About, Access Token. Do not log out there: that ends it.",
            "As yourself, start a chat with the bot that is not encrypted. The bot joins it while a code is open.",
        ]

    def asked(self, way: Way) -> Sequence[AskedSecret]:
        """The homeserver only if none was named."""
        server = AskedSecret(
            API_URL, "Homeserver", r"https?://[^\s/]+/?", "https://matrix.example.org", is_hidden=False
        )
        token = AskedSecret(TOKEN, "Access token", r"[!-~]{8,500}")
        return [server, token] if way.api_url == SPEC.api_url else [token]

    def generated(self, way: Way) -> Sequence[str]:
        return () if way.uses_relay else (WEBHOOK_SECRET,)

    def check(self, name: str, secrets: Secrets, way: Way) -> Checked:
        if name == API_URL:  # tried together with the token
            return Checked()
        return Checked(f"Your bot is {_api(secrets, way).me(seconds=CALL_SECONDS)}.")

    def connect(self, secrets: Secrets, way: Way) -> Sequence[str]:
        if not way.uses_relay:
            parts = urlsplit(way.webhook_url)
            target = urlunsplit((parts.scheme, parts.netloc, SPEC.webhook_paths[0], "", ""))
            _api(secrets, way).set_pusher(target, secrets[WEBHOOK_SECRET])
        return ()


def _api(secrets: Secrets, way: Way) -> Api:
    return Api(secrets.get(API_URL) or way.api_url, secrets[TOKEN])
