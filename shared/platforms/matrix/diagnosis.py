"""Diagnosis of a Matrix bot: its token, its ways in, and its home."""

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from shared.domain.routes import Place
from shared.platforms.diagnosis import Diagnosis
from shared.platforms.matrix import SPEC

if TYPE_CHECKING:
    from shared.platforms.matrix.api import Api

_TOKEN = "Set the secret matrix/bot_token to the bot's token, and PLATFORM_URLS to its homeserver."  # noqa: S105  # advice
_OTHER_HOME = "Invite the bot to the room, or choose another one: handoff config home matrix ROOM."
ENCRYPTED = (
    "This room is encrypted, and the bot cannot read encrypted messages. Use a room without encryption: "
    "turn it off when you create the room, because it cannot be turned off later"
)


class MatrixDiagnosis(Diagnosis):
    """One bot on one homeserver."""

    api: "Api"
    signing = ("matrix/webhook_secret",)
    bot_fix, home_fix = _TOKEN, _OTHER_HOME
    me: str

    def check_bot(self) -> str:
        self.me = self.api.me(seconds=self.left)
        return f"{self.me} answers."

    def check_webhook(self) -> None:
        wanted = self.asked.webhook_url
        here = urlsplit(wanted)
        pushed = f"{here.scheme}://{here.netloc}{SPEC.webhook_paths[0]}"
        if pushed in self.api.pushers(seconds=self.left):
            self.good("webhook", f"Matrix pushes to {pushed}.")
            return
        detail = "The bot has no pusher to this service. An application service and a relay are not visible to it."
        fix = f"One of them must lead to {wanted}; or set a pusher to {pushed}: docs/platforms/matrix.md says how."
        self.unsure("webhook", detail, fix)

    def check_home(self, home: Place) -> None:
        room = home.chat
        members = self.api.members(room, seconds=self.left)
        is_encrypted = self.api.is_encrypted(room, seconds=self.left)
        may_send = self.api.may_send(room, self.me, seconds=self.left)
        if is_encrypted:
            fix = "Make a room without encryption, and invite the bot there."
            self.bad("home", f"{ENCRYPTED.partition('. ')[0]}.", fix)
            return
        self.good("home", f"The bot is in {room}, with {len(members) - 1} other people.")
        if may_send:
            self.good("thread", "The bot may write at home, so it may start threads there.")
        else:
            detail = "The bot's power level does not suffice to write at home."
            self.bad("thread", detail, "Raise it in the room's settings.")
