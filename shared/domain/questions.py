"""Questions of the user's own agent: a permission for one step, or a choice."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from shared.domain.buttons import button_id
from shared.domain.question_text import as_code, as_line, code_block, excerpt, pieces

OPEN_FOR = 900_000
"""Milliseconds until a question that is not answered counts as refused."""
QUESTION_BUTTON = "q"
CHOICE = "choice"
"""The kind of a question that asks for a choice. All other kinds are those of the step that is to be permitted."""
DONE, SKIP, ON, OFF = "done", "skip", "on", "off"


class QuestionState(StrEnum):
    """open → answered | declined | expired. CLOSED: its turn ended first. UNKNOWN: stored by another version."""

    OPEN = "open"
    ANSWERED = "answered"
    DECLINED = "declined"
    EXPIRED = "expired"
    CLOSED = "closed"
    UNKNOWN = "unknown"


DECIDED = (QuestionState.ANSWERED, QuestionState.DECLINED, QuestionState.EXPIRED)


@dataclass(frozen=True)
class Option:
    """One answer that the agent offers.

    `kind` is allow_once, allow_always, reject_once or reject_always; a choice has kinds of no meaning.
    """

    id: str
    kind: str
    name: str
    description: str = ""

    @property
    def allows(self) -> bool:
        return self.kind.startswith("allow")


@dataclass(frozen=True)
class Given:
    """An answer: the ids of options, or words."""

    options: tuple[str, ...] = ()
    words: str | None = None


@dataclass(frozen=True)
class Question:
    """A question of a turn at a fence; `number` is the runner's.

    The thread shows it as `shown_as`, a number that no other question of the session has. `reason` says why no option
    allows it. `shown_at` is the time at which all of it had been sent.

    Of a choice: `several` options may be chosen, or `free` words written. If it does not `block`, the agent goes on, and the
    answer may come after the turn, while the session is at `epoch`. `marks` counts the presses of each option, which is
    chosen if the count is odd. The answer is `option`, or `chosen`, or `words`, or those of the inbox row `row`.
    """

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
    reason: str = ""
    shown_as: int = 0
    shown_at: int | None = None
    several: bool = False
    free: bool = False
    blocks: bool = True
    epoch: int = 0
    marks: tuple[int, ...] = ()
    chosen: tuple[str, ...] = ()
    words: str | None = None
    row: str | None = None

    @property
    def journal(self) -> str:
        """The id of its messages in the outbox."""
        return f"question-{self.turn_id}-{self.fence}-{self.number}"

    @property
    def acknowledgement(self) -> str:
        """What its runner reports once the agent has the answer."""
        return f"q{self.number}"

    @property
    def later_acknowledgement(self) -> str:
        """The same for the answer to a question of an earlier claim."""
        return f"q{self.number}@{self.fence}"

    @property
    def is_choice(self) -> bool:
        return self.kind == CHOICE

    @property
    def revision(self) -> int:
        """Grows with each press that marks an option."""
        return sum(self.marks)

    @property
    def marked(self) -> tuple[str, ...]:
        """The ids of the options that are marked."""
        return tuple(option.id for index, option in enumerate(self.options) if self.is_marked(index))

    @property
    def answer(self) -> str:
        """The answer in words, as the agent reads it; empty if it is in an inbox row."""
        if self.words is not None:
            return self.words
        ids = self.chosen or ((self.option,) if self.option else ())
        return ", ".join(option.name for option in self.options if option.id in ids)

    def is_marked(self, index: int) -> bool:
        return index < len(self.marks) and self.marks[index] % 2 == 1

    def marks_with(self, index: int) -> tuple[int, ...]:
        """The counts after one more press of an option."""
        marks = [*self.marks, *[0] * (len(self.options) - len(self.marks))]
        return tuple(count + (at == index) for at, count in enumerate(marks))

    def chosen_option(self) -> Option | None:
        return next((option for option in self.options if option.id == self.option), None)

    def option_for(self, *, allow: bool) -> Option | None:
        """The option that a command means. It allows once, never for good."""
        kinds = ("allow_once",) if allow else ("reject_once", "reject_always")
        return next((option for kind in kinds for option in self.options if option.kind == kind), None)

    def button(self, index: int) -> str:
        """The id of the button for an option. Of several, it says whether it marks the option, and after how many presses."""
        if not self.several:
            return self._button(index)
        count = self.marks[index] if index < len(self.marks) else 0
        return self._button(index, OFF if self.is_marked(index) else ON, count)

    @property
    def done_button(self) -> str:
        """It answers with what is marked, if nothing has changed since it was shown."""
        return self._button(DONE, self.revision)

    @property
    def skip_button(self) -> str:
        return self._button(SKIP)

    def _button(self, *fields: object) -> str:
        return button_id(QUESTION_BUTTON, self.turn_id, self.fence, self.number, *fields)

    @property
    def named(self) -> str:
        """The number, and the title as plain text."""
        return f"**{self.shown_as}.** {as_code(self.title)}".rstrip()

    def messages(self, room: int, length: Callable[[str], int], *, buttons: bool) -> list[str]:
        """All of the question as Markdown, each message with at most `room` of the detail; the last one says the state."""
        found = list(pieces(self._whole_detail, room, length)) or [""]
        end = self._how(buttons=buttons) if self.state is QuestionState.OPEN else self.outcome
        return [
            "\n".join(
                filter(
                    None,
                    (
                        self._heading(at, len(found)),
                        code_block(piece) if piece else "",
                        end if at == len(found) else "",
                    ),
                )
            )
            for at, piece in enumerate(found, start=1)
        ]

    @property
    def _whole_detail(self) -> str:
        """With the texts of a choice, which buttons show only the beginning of."""
        if not self.is_choice:
            return self.detail
        lines = [
            f"{number}. {': '.join(filter(None, (as_line(option.name), as_line(option.description))))}"
            for number, option in enumerate(self.options, start=1)
        ]
        return "\n".join(filter(None, (self.detail, *lines)))

    def _heading(self, at: int, of: int) -> str:
        counted = f"part {at} of {of}" if of > 1 else ""
        if at > 1:
            return f"**{self.shown_as}.** {counted}"
        title = "" if self.title in self.detail else as_code(self.title)  # some name a command by itself
        return " ".join(filter(None, (f"**{self.shown_as}. The agent asks:**", title, counted and f"({counted})")))

    def _how(self, *, buttons: bool) -> str:
        if self.is_choice:
            return self._how_to_choose(buttons=buttons)
        commands = [
            f"`/{command} {self.shown_as}`"
            for command, allow in (("approve", True), ("deny", False))
            if self.option_for(allow=allow)
        ]
        sent = f"{'Answer with a button, or send' if buttons else 'Send'} {' or '.join(commands)}." if commands else ""
        return " ".join(filter(None, (self.reason, sent or "Answer with a button.")))

    def _how_to_choose(self, *, buttons: bool) -> str:
        marked = [str(at) for at in range(1, len(self.options) + 1) if self.is_marked(at - 1)]
        ways = []
        if self.options:
            numbers = "1 2" if self.several and len(self.options) > 1 else "1"
            press = "Press what you choose, then Done, or send" if self.several else "Press a button, or send"
            ways.append(f"{press if buttons else 'Send'} `/answer {self.shown_as} {numbers}`")
        if self.free:
            ways.append(f"{'or write' if ways else 'Write'} your answer as your next message")
        return " ".join(
            filter(
                None,
                (
                    f"Chosen: {', '.join(marked)}." if marked else "",
                    f"{', '.join(ways)}." if ways else "",
                    f"`/skip {self.shown_as}` skips it.",
                    "" if self.blocks else "The agent goes on meanwhile.",
                ),
            )
        )

    @property
    def outcome(self) -> str:
        """How it ended, in one line."""
        if self.state is QuestionState.ANSWERED:
            if self.is_choice:
                return f"✓ {as_code(excerpt(self.answer))}" if self.answer else "✓ Answered with your message"
            chosen = self.chosen_option()
            return f"{'✓' if chosen and chosen.allows else '✗'} {chosen.name if chosen else 'answered'}"
        if self.state is QuestionState.EXPIRED:
            return f"✗ Not answered in time, so it counts as {'skipped' if self.is_choice else 'refused'}"
        return "– Skipped" if self.state is QuestionState.DECLINED else "No longer asked"
