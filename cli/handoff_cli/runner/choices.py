"""Forms of an agent during one turn: asked field by field, answered as one, and which answers it took."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from handoff_cli.runner.exchange import Exchange
from handoff_cli.runner.questions.choice import Choice, Form, Picked

Json = dict[str, Any]


@dataclass(frozen=True)
class _Late:
    """An answer that was returned to an agent that does not wait for it."""

    number: int
    choice: Choice
    picked: Picked

    @property
    def as_said(self) -> str:
        """How the reader of the agent's session shows it."""
        return f"To your question “{self.choice.question}”: {self.picked.words or ', '.join(self.picked.values)}"


class Choices:
    """`rows` are messages of the user that were answers and have reached the agent, `answered` the numbers of questions
    that do not block and whose answers have reached it."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._asked: set[asyncio.Task[tuple[str, Picked | None]]] = set()
        self._late: list[_Late] = []
        self.rows: list[str] = []
        self.answered: list[int] = []

    async def ask(self, form: Form) -> Json | None:
        """The fields as the agent takes them; None if none was filled in, or the turn has ended."""
        tasks = [asyncio.create_task(self._exchange.ask_held(choice)) for choice in form.choices]
        self._asked.update(tasks)
        results = await asyncio.gather(*tasks, return_exceptions=True)
        self._asked.difference_update(tasks)
        content: Json = {}
        for choice, result in zip(form.choices, results, strict=True):
            if isinstance(result, BaseException):
                return None
            name, picked = result
            content |= choice.content(picked) if picked else {}
            if picked and not form.blocks:
                self._late.append(_Late(int(name.removeprefix("q")), choice, picked))
                continue
            self._exchange.reached(name)
            self.rows += [picked.row] if picked and picked.row else []
        return content or None

    def end(self) -> None:
        """The agent does not wait for an answer any more. What does not block is asked on by the service."""
        for task in self._asked:
            task.cancel()

    async def look_what_was_taken(self, said: Callable[[], Awaitable[list[str] | None]]) -> None:
        """Which answers stand in the agent's own session: one that came too late was dropped without a word."""
        stands = await said() if self._late else []
        for late in self._late:
            if stands is None or any(late.as_said in text for text in stands):
                self.answered.append(late.number)
                self.rows += [late.picked.row] if late.picked.row else []
