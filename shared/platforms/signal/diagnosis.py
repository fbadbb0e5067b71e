"""Diagnosis of a Signal account: the daemon, the account, and the home."""

from typing import TYPE_CHECKING

from shared.domain.routes import Place
from shared.errors import Rejected
from shared.platforms.diagnosis import Diagnosis
from shared.platforms.signal.inbound import chat_of_group, group_of_chat

if TYPE_CHECKING:
    from shared.platforms.signal.api import Api

_DAEMON = "Start `signal-cli daemon --http` beside the service, as docs/platforms/signal.md says."
_OTHER_HOME = "Add the bot's number to the group, or choose another chat: handoff config home signal CHAT."


class SignalDiagnosis(Diagnosis):
    """One account of the daemon."""

    api: "Api"
    signing = ("signal/relay_secret",)
    bot_fix, home_fix = _DAEMON, _OTHER_HOME

    def check_bot(self) -> str:
        account = self.secrets.get("signal/account") or ""
        if account not in [one["number"] for one in self.api.ask("listAccounts", seconds=self.left)]:
            raise Rejected("The daemon does not have the account that is set as signal/account")
        return f"signal-cli has the account …{account[-4:]}."

    def check_webhook(self) -> None:
        fix = f"It must post to {self.asked.webhook_url}."
        self.unsure("webhook", "Messages come from a relay beside the daemon.", fix)

    def check_home(self, home: Place) -> None:
        group = group_of_chat(home.chat)
        if group is None:
            is_there = is_person(self.api, home.chat, seconds=self.left)
        else:
            is_there = members_of(self.api, group, seconds=self.left) is not None
        if is_there:
            self.good("home", "The bot can write to your home.")
        else:
            self.bad("home", "Signal does not know this person, or the bot is not in this group.", _OTHER_HOME)


def is_person(api: "Api", chat: str, *, seconds: float) -> bool:
    """Whether a person with this id is on Signal."""
    return any(one["isRegistered"] for one in api.ask("getUserStatus", {"recipient": [chat]}, seconds=seconds))


def members_of(api: "Api", group: str, *, seconds: float) -> set[str] | None:
    """The people of a group that the bot is in; None if it is not."""
    groups = api.ask("listGroups", {"groupId": [group]}, seconds=seconds)
    found = [one for one in groups if one["isMember"] and _same(one["id"], group)]
    return {str(member.get("uuid")) for member in found[0]["members"]} if found else None


def _same(first: str, second: str) -> bool:
    try:
        return chat_of_group(first) == chat_of_group(second)
    except ValueError:
        return False
