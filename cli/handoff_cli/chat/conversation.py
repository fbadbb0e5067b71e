"""The session that this terminal talks in, and how much of it the person has seen."""

import uuid
from dataclasses import dataclass

from handoff_cli.api.client import Service
from handoff_cli.api.transport import Json
from handoff_cli.handoff import receipt
from handoff_cli.sessions.transcripts import Message
from handoff_cli.ui.texts import one_line

_TITLE_WIDTH = 60


@dataclass
class Conversation:
    """Created on the service with the first thing that needs it, so that looking around leaves nothing behind."""

    service: Service
    cwd: str
    title: str | None = None
    session: Json | None = None
    seen: int = 0

    def ensure(self, first_words: str = "") -> Json:
        """The session, made now if there is none; its title is what was said first, unless one was given."""
        if self.session is None:
            title = self.title or one_line(first_words, _TITLE_WIDTH) or None
            about = {"title": title, "source": "cli", "cwd": self.cwd}
            kept = {key: value for key, value in about.items() if value}
            self.session, self.seen = self.service.put_session(uuid.uuid4().hex, kept), 0
        return self.session

    def refresh(self) -> Json | None:
        """The session as it is now. Its epoch stays the one this terminal knows: only /resume may take a newer one."""
        if self.session is not None:
            self.session = {**self.service.session(self.session["id"]), "epoch": self.session["epoch"]}
        return self.session

    def take_over(self, session: Json) -> None:
        """This terminal is now the one that writes; all that was said so far counts as seen."""
        self.session, self.seen, self.title = session, int(session["message_count"]), None

    def leave(self, title: str | None) -> None:
        """The next words begin a new session; the old one is kept on the service."""
        self.session, self.seen, self.title = None, 0, title

    def unseen(self) -> list[Message]:
        """What was added since the person last looked; it counts as seen from now on."""
        if self.session is None:
            return []
        messages = list(self.service.messages(self.session["id"], after=self.seen))
        self.seen += len(messages)
        return messages

    def digest(self) -> str:
        """Over the whole transcript as it is before a handoff."""
        return receipt.digest(self.service.messages(self.ensure()["id"]))
