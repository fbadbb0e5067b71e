"""Output to the operator, and questions."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from local.operate.deploy.problems import WrongUsage
from local.operate.deploy.stacks import Event


@dataclass
class Talk:
    """Lines on stdout, or on stderr if stdout is for one JSON value. `yes` answers every question about changes.

    `sleep` is the pause between two looks at what AWS does.
    """

    is_json: bool = False
    yes: bool = False
    read: Callable[[], str] = sys.stdin.readline
    sleep: Callable[[float], None] = time.sleep

    def say(self, text: str = "") -> None:
        stream = sys.stderr if self.is_json else sys.stdout
        stream.write(f"{text}\n")
        stream.flush()

    def event(self, event: Event) -> None:
        """One line of progress; the reason only where something went wrong."""
        reason = f"  {event.reason}" if event.status.endswith("_FAILED") and event.reason else ""
        self.say(f"  {event.status.lower():<28} {event.resource}{reason}")

    @property
    def can_ask(self) -> bool:
        return sys.stdin.isatty()

    def confirm(self, question: str, *, refused: str) -> bool:
        """Whether the operator agrees. Raises WrongUsage if it cannot be asked, saying how to agree beforehand."""
        return self.yes or self.answer(question, refused=refused).lower() in ("y", "yes")

    def answer(self, question: str, *, refused: str) -> str:
        if not self.can_ask:
            raise WrongUsage(refused)
        stream = sys.stderr if self.is_json else sys.stdout
        stream.write(question)
        stream.flush()
        return self.read().strip()
