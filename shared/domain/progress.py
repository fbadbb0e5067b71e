"""Progress of a turn while it runs, and one line about it afterwards."""

from dataclasses import dataclass

from shared.domain.usage import spent_line

MAX_SAID = 1500
MAX_TOOL = 200
SHOW_EVERY = 3_000
"""Milliseconds between two edits of a progress message, and until the deployment's agent gets one."""


@dataclass(frozen=True)
class Summary:
    """The work of a turn so far."""

    steps: int = 0
    files: int = 0
    seconds: int = 0
    tokens: int = 0
    cost: int = 0

    @property
    def line(self) -> str:
        """Such as `12 steps, 3 files, 48 s, 3.1k tokens, $0.02`."""
        spent = spent_line(self.tokens, self.cost)
        parts = [_count(self.steps, "step"), _count(self.files, "file"), _duration(self.seconds), spent]
        return ", ".join(part for part in parts if part)


@dataclass(frozen=True)
class Progress:
    """The newest report of a turn at work. `seq` grows with each report of a fence; `at` is when it was stored.

    `given` messages have reached the agent while it works, `waiting` ones are for the end of its answer.
    """

    fence: int
    seq: int
    at: int
    said: str = ""
    tool: str = ""
    summary: Summary = Summary()
    given: int = 0
    waiting: int = 0

    @property
    def later(self) -> str:
        """What became of messages that came while it works; empty if there are none."""
        given = f"↪ {_count(self.given, 'message')} reached the agent while it works" if self.given else ""
        waits = f"⏳ {_count(self.waiting, 'message')} for the agent once this answer is done" if self.waiting else ""
        return "\n".join(filter(None, (given, waits)))

    @property
    def markdown(self) -> str:
        """The progress message."""
        said = self.said if len(self.said) <= MAX_SAID else f"… {self.said[-MAX_SAID:]}"
        tool = f"⚙ {_plain(self.tool[:MAX_TOOL])}" if self.tool else ""
        return "\n\n".join(part for part in (said.strip(), tool, self.later, self.summary.line) if part) or "…"


def _plain(text: str) -> str:
    """A text as code, so that what it contains is not read as Markdown."""
    return f"`{' '.join(text.replace('`', chr(39)).split())}`"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}" if number > 0 else ""


def _duration(seconds: int) -> str:
    if seconds < 60:  # a minute
        return f"{max(seconds, 0)} s"
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
