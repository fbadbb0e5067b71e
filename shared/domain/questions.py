"""Questions: what the user's own agent needs a decision for."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

OPEN_FOR = 900_000
"""Milliseconds until a question that is not answered counts as refused."""
MAX_DETAIL = 2500
_BUTTON = re.compile(r"q\.([A-Za-z0-9_-]{1,40})\.([0-9]{1,6})\.([0-9]{1,6})\.([0-9]{1,2})")


class QuestionState(StrEnum):
    """open → answered | expired. CLOSED: its turn ended first. UNKNOWN: stored by another version."""

    OPEN = "open"
    ANSWERED = "answered"
    EXPIRED = "expired"
    CLOSED = "closed"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Option:
    """One answer that the agent offers. `kind` is allow_once, allow_always, reject_once or reject_always."""

    id: str
    kind: str
    name: str

    @property
    def allows(self) -> bool:
        return self.kind.startswith("allow")


@dataclass(frozen=True)
class Question:
    """A question of a turn at a fence, shown in the thread with its number."""

    session_id: str
    turn_id: str
    fence: int
    number: int
    title: str
    options: Sequence[Option]
    expires_at: int
    detail: str = ""
    kind: str = ""
    state: QuestionState = QuestionState.OPEN
    option: str | None = None
    is_acknowledged: bool = False
    is_shown_closed: bool = False

    @property
    def journal(self) -> str:
        """The id of its message in the outbox."""
        return f"question-{self.turn_id}-{self.fence}-{self.number}"

    def chosen(self) -> Option | None:
        return next((option for option in self.options if option.id == self.option), None)

    def button(self, index: int) -> str:
        """The id of the button for an option; `pressed` reads it."""
        return f"q.{self.turn_id}.{self.fence}.{self.number}.{index}"

    def asked(self, *, buttons: bool) -> str:
        """The question as it is asked, with or without buttons."""
        detail = self.detail if len(self.detail) <= MAX_DETAIL else f"{self.detail[:MAX_DETAIL]}\n… (cut)"
        shown = f"\n{_fenced(detail)}" if detail.strip() else ""
        title = "" if self.title.strip() == self.detail.strip() else f" {self.title}"  # some name a command by itself
        commands = f"`/approve {self.number}` or `/deny {self.number}`."
        how = f"Answer with a button, or send {commands}" if buttons else f"Send {commands}"
        return f"**{self.number}. The agent asks:**{title}{shown}\n{how}"

    @property
    def outcome(self) -> str:
        """The question as it is shown once it is decided."""
        chosen = self.chosen()
        said = {
            QuestionState.ANSWERED: f"{'✓' if chosen and chosen.allows else '✗'} {chosen.name if chosen else 'answered'}",
            QuestionState.EXPIRED: "✗ Not answered in time, so it counts as refused",
        }.get(self.state, "No longer asked")
        return f"**{self.number}.** {self.title}\n{said}"


@dataclass(frozen=True)
class Press:
    """The meaning of the id of a question's button."""

    turn_id: str
    fence: int
    number: int
    index: int


def pressed(button: str) -> Press | None:
    """The meaning of a button's id; None for an id of another kind."""
    found = _BUTTON.fullmatch(button)
    return Press(found[1], int(found[2]), int(found[3]), int(found[4])) if found else None


def _fenced(text: str) -> str:
    """A code block that its content cannot end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text.rstrip()}\n{fence}"
