"""Progress of the deployment's agent, stored and shown every few seconds."""

import contextlib
import logging
from typing import Self

from shared.domain.offers import Offer
from shared.domain.progress import MAX_SAID, Progress, Summary
from shared.domain.sessions import Session
from shared.errors import Rejected
from shared.services import Services
from shared.use_cases.access import platform_of
from shared.use_cases.offers import send_show

log = logging.getLogger(__name__)


class LiveProgress:
    """The progress of one run of a turn. Best effort: it decides nothing, so what is lost or late does no harm."""

    @classmethod
    def of(cls, services: Services, session: Session, offer: Offer) -> Self | None:
        """None where no message can be edited: in a terminal, and on some platforms."""
        if offer.place.is_cli:
            return None
        with contextlib.suppress(Rejected):  # a platform that was just removed; the commit deals with it
            if platform_of(services, offer.place).capabilities.edits:
                return cls(services, session, offer)
        return None

    def __init__(self, services: Services, session: Session, offer: Offer) -> None:
        self._services = services
        self._session = session
        self._offer = offer
        self._began = services.clock.now()
        self._seq = 0
        self._said = self._shown = ""

    def update(self, said: str) -> None:
        """Keep what the agent has said so far. For the agent: raises nothing, and waits for nothing."""
        self._said = said

    def show(self) -> bool:
        """Store and show what is new; False if the turn is over, or another executor has it."""
        said = self._said
        if said == self._shown:
            return True
        if not self._is_mine():
            return False
        if self._store(said):
            send_show(self._services, self._offer, why=f"{self._fence} {self._seq}")
        self._shown = said
        return True

    def finish(self) -> None:
        """Store how long the agent took, if anything was shown: the line that is left of it says so."""
        if not self._seq:
            return
        try:
            self._store(self._said)
        except Exception as trouble:  # noqa: BLE001  # the reply is there, and matters more
            log.warning("session %s: its progress was not stored (%s)", self._session.id, type(trouble).__name__)

    def _store(self, said: str) -> bool:
        self._seq += 1
        now = self._services.clock.now()
        summary = Summary(seconds=(now - self._began) // 1000)
        progress = Progress(self._fence, self._seq, now, said[-(MAX_SAID + 1) :], summary=summary)
        return self._services.store.turns.report(self._offer, progress)

    def _is_mine(self) -> bool:
        current = self._services.store.sessions.get(self._session.id)
        turn = current.turn if current else None
        return turn is not None and (turn.id, turn.fence) == (self._offer.id, self._fence)

    @property
    def _fence(self) -> int:
        return self._session.turn.fence if self._session.turn else 0
