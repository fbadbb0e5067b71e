"""How much a user uses."""

from typing import Protocol


class Usage(Protocol):
    """Counts by conditional writes, so that concurrent requests never pass a limit together.

    What is taken and then not used is given back. A process that dies between the two leaves a turn or the bytes of one
    upload counted; a handoff that was never written frees itself.
    """

    def take_handoff(self, user_id: str, handoff_id: str, *, now: int) -> bool:
        """Count an open handoff and its turn; False if this one is counted already.

        Raises TooManyOpenHandoffs or TooManyTurns.
        """

    def give_back_handoff(self, user_id: str, handoff_id: str) -> None: ...

    def take_turn(self, user_id: str, turn_id: str, *, now: int) -> None:
        """Count a turn; a retry of the user's last one counts once. Raises TooManyTurns."""

    def take_notice(self, user_id: str, notice_id: str, *, now: int) -> None:
        """Count a notice: one a minute; a retry of the user's last one counts once. Raises TooManyNotices."""

    def take_bytes(self, user_id: str, size: int) -> None:
        """Count an upload. Raises StorageFull."""

    def give_back_bytes(self, user_id: str, size: int) -> None: ...
