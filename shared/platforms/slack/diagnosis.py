"""Diagnosis of a Slack app: its token, its scopes, and its home. Slack does not reveal the webhook."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shared.domain.routes import Place
from shared.errors import PlaceGone, PlatformError
from shared.platforms.diagnosis import Diagnosis
from shared.platforms.slack import SPEC
from shared.ports.platforms import Finding
from shared.ports.secrets import Secrets

if TYPE_CHECKING:
    from shared.platforms.slack.api import Api

# Handoffs and replies need these scopes; the others of the manifest are optional.
_POST = "chat:write"
_READ = ("channels:history", "groups:history", "im:history", "channels:read", "groups:read", "im:read", "mpim:read")
_NEW_TOKEN = "Install the app again, then: handoff setup slack"  # noqa: S105  # advice
_OTHER_HOME = "Invite the bot there with /invite, or make your direct messages with it your home: handoff link slack"
_ADD_SCOPES = "Add them under OAuth & Permissions in the app's settings, then install the app again."


def diagnose(
    api: "Api", secrets: Secrets, home: Place | None, *, webhook_url: str, seconds: float
) -> Sequence[Finding]:
    """See `Platform.diagnose`."""
    found = Diagnosis(SPEC, seconds=seconds)
    try:
        who, scopes = api.who(seconds=found.left)
    except PlatformError as error:
        found.trouble("bot", error, _NEW_TOKEN)
        return found.findings
    found.good("bot", f"@{who.get('user')} answers in the workspace {who.get('team')}.")
    found.signing({"slack/signing_secret": secrets.get("slack/signing_secret")})
    _webhook(found, webhook_url)
    _scopes(found, scopes, home)
    if home is not None:
        _home(found, api, home.chat, scopes)
    return found.findings


def _webhook(found: Diagnosis, wanted: str) -> None:
    pages = "Event Subscriptions and, for buttons, Interactivity & Shortcuts"
    fix = f"In the app's settings, {pages} must name {wanted}; or Socket Mode is on and a relay runs."
    found.unsure("webhook", "Slack does not tell an app where it posts to.", fix)


def _scopes(found: Diagnosis, scopes: frozenset[str] | None, home: Place | None) -> None:
    if scopes is None:
        found.unsure("scopes", "Slack did not say which scopes the token has.", "Try again in a minute.")
        return
    needed = [_POST, *_READ, *(["im:write"] if home and SPEC.is_person_id(home.chat) else [])]
    if lacking := [scope for scope in needed if scope not in scopes]:
        found.bad("scopes", f"The token lacks {', '.join(lacking)}.", _ADD_SCOPES)
    else:
        found.good("scopes", "The token has the scopes to post and to read.")


def _home(found: Diagnosis, api: "Api", chat: str, scopes: frozenset[str] | None) -> None:
    try:
        channel = api.direct_if_open(chat, seconds=found.left) if SPEC.is_person_id(chat) else chat
    except PlaceGone:
        found.unsure("home", "There are no direct messages with you yet.", "The first handoff opens them.")
        return
    except PlatformError as error:
        found.trouble("home", error, _OTHER_HOME)
        return
    try:
        api.peek(channel, seconds=found.left)
    except PlatformError as error:
        found.trouble("home", error, _OTHER_HOME)
        return
    found.good("home", f"The bot is in {channel}.")
    if scopes is not None and _POST not in scopes:
        found.bad("thread", "The bot may not post at home.", _ADD_SCOPES)
    else:
        found.good("thread", "The bot may post at home and start threads there.")
