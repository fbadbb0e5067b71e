"""Set up a bot of the toy."""

from collections.abc import Sequence
from contextlib import closing

from shared.platforms.set_up import CALL_SECONDS, AskedSecret, Checked, Secrets, SetUp, Way
from tests.contracts.platform.toy.api import Api

TOKEN, WEBHOOK_SECRET = "toy/bot_token", "toy/webhook_secret"  # names


class ToySetUp(SetUp):
    """One bot. Its webhook is set on the toy's pages."""

    def steps(self, way: Way) -> Sequence[str]:
        return ["Make a bot, and copy its token.", f"Let it post to {way.webhook_url or 'the public address'}."]

    def asked(self, way: Way) -> Sequence[AskedSecret]:  # noqa: ARG002  # the same for both ways
        return [AskedSecret(TOKEN, "Bot token", r"[0-9a-f]{32}", "32 digits and letters a to f")]

    def generated(self, way: Way) -> Sequence[str]:  # noqa: ARG002
        return [WEBHOOK_SECRET]

    def check(self, name: str, secrets: Secrets, way: Way) -> Checked:
        with closing(Api(way.api_url, lambda: secrets[name])) as api:
            return Checked(f"Your bot is {api.get('/me', {'name': str}, seconds=CALL_SECONDS)['name']}.")
