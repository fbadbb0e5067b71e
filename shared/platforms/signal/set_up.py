"""Set up an account of Signal: signal-cli and its daemon on this machine, and the number that it has."""

from collections.abc import Sequence
from contextlib import closing
from urllib.parse import urlsplit

from shared.errors import NotSent, PlatformError, Rejected
from shared.platforms.set_up import CALL_SECONDS, AskedSecret, Checked, Secrets, SetUp, Way
from shared.platforms.signal.api import Api

ACCOUNT, RELAY_SECRET = "signal/account", "signal/relay_secret"  # names
_ACCOUNT_STEP = """Register a number that has no Signal yet, with its code from an SMS:
signal-cli -a +15551234567 register; signal-cli -a +15551234567 verify CODE
Or link this machine to an account of yours; then the bot is that account, and sees what it sees:
signal-cli link -n Handoff, and scan its code in the app, Settings, Linked devices."""


class SignalSetUp(SetUp):
    """One account of the daemon that runs beside the service."""

    def steps(self, way: Way) -> Sequence[str]:
        return [
            "Signal may limit or ban accounts that behave like bots: use a number that you can do without.",
            "Install signal-cli 0.13 or later on this machine: https://github.com/AsamK/signal-cli.",
            _ACCOUNT_STEP,
            f"Start its daemon, and keep it running:\n{_daemon(way)}",
        ]

    def asked(self, way: Way) -> Sequence[AskedSecret]:  # noqa: ARG002  # the interface
        return [AskedSecret(ACCOUNT, "Number of the bot", r"\+[1-9][0-9]{5,14}", "+15551234567", is_hidden=False)]

    def generated(self, way: Way) -> Sequence[str]:
        """A relay shares a secret with the service that is new with each start."""
        return () if way.uses_relay else (RELAY_SECRET,)

    def check(self, name: str, secrets: Secrets, way: Way) -> Checked:
        account = secrets[name]
        with closing(Api(way.api_url, lambda: account)) as api:
            try:
                known = [one["number"] for one in api.ask("listAccounts", seconds=CALL_SECONDS)]
            except NotSent:
                raise Rejected(f"signal-cli did not answer at {way.api_url}. Start it: {_daemon(way)}") from None
            if account not in known:
                raise Rejected("signal-cli does not have this account. Register or link it first")
            return Checked(f"Your bot is {_name(api, account)}{account}.")


def _daemon(way: Way) -> str:
    return f"signal-cli daemon --http {urlsplit(way.api_url).netloc} --receive-mode on-connection"


def _name(api: Api, account: str) -> str:
    """The name in the account's profile, if it has one."""
    try:
        found = api.ask("listContacts", {"recipient": [account], "allRecipients": True}, seconds=CALL_SECONDS)
    except PlatformError:
        return ""
    profile = (found[0].get("profile") or {}) if found else {}
    name = " ".join(profile[part] for part in ("givenName", "familyName") if profile.get(part))
    return f"{name}, " if name else ""
