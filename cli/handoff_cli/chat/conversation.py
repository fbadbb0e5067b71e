"""The session of this terminal, and how many of its messages were shown."""

import uuid
from dataclasses import dataclass

from handoff_cli.api.client import Service
from handoff_cli.api.transport import Json
from handoff_cli.transcripts.messages import Message, digest
from handoff_cli.ui.text import one_line

_TITLE_WIDTH = 60


@dataclass
class Conversation:
    """The session is created on the service with the first message, not when the chat starts."""

    service: Service
    cwd: str
    title: str | None = None
    session: Json | None = None
    seen: int = 0

    def ensure(self, first_text: str = "") -> Json:
        """The session, created now if there is none; its title defaults to the first message."""
        if self.session is None:
            title = self.title or one_line(first_text, _TITLE_WIDTH) or None
            about = {"title": title, "source": "cli", "cwd": self.cwd}
            kept = {key: value for key, value in about.items() if value}
            self.session, self.seen = self.service.put_session(uuid.uuid4().hex, kept), 0
        return self.session

    def refresh(self, *, wait: float = 0.0, seen: str | None = None) -> Json | None:
        """Read the session again, if the service holds requests only when it is another version than `seen`.

        Keeps the epoch of this terminal: only /resume may take a newer one.
        """
        if self.session is not None:
            current = self.service.session(self.session["id"], wait=wait, seen=seen)
            self.session = {**current, "epoch": self.session["epoch"]}
        return self.session

    def take_over(self, session: Json) -> None:
        """Continue this session; all its messages count as seen."""
        self.session, self.seen, self.title = session, int(session["message_count"]), None

    def leave(self, title: str | None) -> None:
        """Begin a new session with the next message; the old one stays on the service."""
        self.session, self.seen, self.title = None, 0, title

    def unseen(self) -> list[Message]:
        """The messages since the last call; they count as seen from now on."""
        if self.session is None:
            return []
        messages = list(self.service.messages(self.session["id"], after=self.seen))
        self.seen += len(messages)
        return messages

    def digest(self) -> str:
        """Digest of the whole transcript, to compare with the receipt."""
        return digest(self.service.messages(self.ensure()["id"]))
