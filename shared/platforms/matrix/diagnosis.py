"""Diagnosis of a Matrix bot: its token, its ways in, and its home."""

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from shared.domain.routes import Place
from shared.errors import PlatformError
from shared.platforms.diagnosis import Diagnosis
from shared.platforms.matrix import SPEC
from shared.ports.platforms import Finding
from shared.ports.secrets import Secrets

if TYPE_CHECKING:
    from shared.platforms.matrix.api import Api

_TOKEN = "Set the secret matrix/bot_token to the bot's token, and PLATFORM_URLS to its homeserver."  # noqa: S105  # advice
_OTHER_HOME = "Invite the bot to the room, or choose another one: handoff config home matrix ROOM."
ENCRYPTED = (
    "This room is encrypted, and the bot cannot read encrypted messages. Use a room without encryption: "
    "turn it off when you create the room, because it cannot be turned off later"
)


def diagnose(
    api: "Api", secrets: Secrets, home: Place | None, *, webhook_url: str, seconds: float
) -> Sequence[Finding]:
    """See `Platform.diagnose`."""
    found = Diagnosis(SPEC, seconds=seconds)
    try:
        me = api.me(seconds=found.left)
    except PlatformError as error:
        found.trouble("bot", error, _TOKEN)
        return found.findings
    found.good("bot", f"{me} answers.")
    found.signing({"matrix/webhook_secret": secrets.get("matrix/webhook_secret")})
    _webhook(found, api, webhook_url)
    if home is not None:
        _home(found, api, me, home.chat)
    return found.findings


def _webhook(found: Diagnosis, api: "Api", wanted: str) -> None:
    here = urlsplit(wanted)
    pushed = f"{here.scheme}://{here.netloc}{SPEC.webhook_paths[0]}"
    try:
        urls = api.pushers(seconds=found.left)
    except PlatformError as error:
        found.trouble("webhook", error, "Try again in a minute.")
        return
    if pushed in urls:
        found.good("webhook", f"Matrix pushes to {pushed}.")
        return
    detail = "The bot has no pusher to this service. An application service and a relay are not visible to it."
    fix = f"One of them must lead to {wanted}; or set a pusher to {pushed}: docs/platforms/matrix.md says how."
    found.unsure("webhook", detail, fix)


def _home(found: Diagnosis, api: "Api", me: str, room: str) -> None:
    try:
        members = api.members(room, seconds=found.left)
        is_encrypted = api.is_encrypted(room, seconds=found.left)
        may_send = api.may_send(room, me, seconds=found.left)
    except PlatformError as error:
        found.trouble("home", error, _OTHER_HOME)
        return
    if is_encrypted:
        found.bad(
            "home", f"{ENCRYPTED.partition('. ')[0]}.", "Make a room without encryption, and invite the bot there."
        )
        return
    found.good("home", f"The bot is in {room}, with {len(members) - 1} other people.")
    if may_send:
        found.good("thread", "The bot may write at home, so it may start threads there.")
    else:
        found.bad(
            "thread", "The bot's power level does not suffice to write at home.", "Raise it in the room's settings."
        )
