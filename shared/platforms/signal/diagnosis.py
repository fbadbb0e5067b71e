"""Diagnosis of a Signal account: the daemon, the account, and the home."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shared.domain.routes import Place
from shared.errors import PlatformError
from shared.platforms.diagnosis import Diagnosis
from shared.platforms.signal import SPEC
from shared.platforms.signal.inbound import chat_of_group, group_of_chat
from shared.ports.platforms import Finding
from shared.ports.secrets import Secrets

if TYPE_CHECKING:
    from shared.platforms.signal.api import Api

_DAEMON = "Start `signal-cli daemon --http` beside the service, as docs/platforms/signal.md says."
_OTHER_HOME = "Add the bot's number to the group, or choose another chat: handoff config home signal CHAT."


def diagnose(
    api: "Api", secrets: Secrets, home: Place | None, *, webhook_url: str, seconds: float
) -> Sequence[Finding]:
    """See `Platform.diagnose`."""
    found = Diagnosis(SPEC, seconds=seconds)
    account = secrets.get("signal/account") or ""
    try:
        known = [one["number"] for one in api.call("listAccounts", seconds=found.left)]
    except PlatformError as error:
        found.trouble("bot", error, _DAEMON)
        return found.findings
    if account not in known:
        found.bad("bot", "The daemon does not have the account that is set as signal/account.", _DAEMON)
        return found.findings
    found.good("bot", f"signal-cli has the account …{account[-4:]}.")
    found.signing({"signal/relay_secret": secrets.get("signal/relay_secret")})
    found.unsure("webhook", "Messages come from a relay beside the daemon.", f"It must post to {webhook_url}.")
    if home is not None:
        _home(found, api, home.chat)
    return found.findings


def _home(found: Diagnosis, api: "Api", chat: str) -> None:
    group = group_of_chat(chat)
    try:
        if group is None:
            is_there = is_person(api, chat, seconds=found.left)
        else:
            is_there = members_of(api, group, seconds=found.left) is not None
    except PlatformError as error:
        found.trouble("home", error, _OTHER_HOME)
        return
    if is_there:
        found.good("home", "The bot can write to your home.")
    else:
        found.bad("home", "Signal does not know this person, or the bot is not in this group.", _OTHER_HOME)


def is_person(api: "Api", chat: str, *, seconds: float) -> bool:
    """Whether a person with this id is on Signal."""
    return any(one["isRegistered"] for one in api.call("getUserStatus", {"recipient": [chat]}, seconds=seconds))


def members_of(api: "Api", group: str, *, seconds: float) -> set[str] | None:
    """The people of a group that the bot is in; None if it is not."""
    groups = api.call("listGroups", {"groupId": [group]}, seconds=seconds)
    found = [one for one in groups if one["isMember"] and _same(one["id"], group)]
    return {str(member.get("uuid")) for member in found[0]["members"]} if found else None


def _same(first: str, second: str) -> bool:
    try:
        return chat_of_group(first) == chat_of_group(second)
    except ValueError:
        return False
