"""The turns at work on this machine, to whose threads files can be sent."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from handoff_cli.runner.machine.sessions import HandedOver
from handoff_cli.runner.outgoing.opened import NotSendable

NOBODY = "Nothing was sent: a file can be sent only while the agent works on a message of the chat."
_ENDED = "The turn has ended, so nothing more is sent. It may have arrived if it was on its way."
_SEVERAL = "Nothing was sent: several sessions work in this directory. Name one with --session."

Json = dict[str, Any]


class Sender(Protocol):
    """Sends files to the thread of one turn."""

    session: HandedOver

    async def send(self, path: str, caption: str) -> str:
        """Send a file; returns what became of it, as a sentence. Raises NotSendable."""


class LiveTurns:
    """One sender per session, for as long as its turn is at work. `send` is a verb of the runner's channel.

    Any program of this user can ask: only the file decides what goes, and only the turn where it goes.
    """

    def __init__(self) -> None:
        self._senders: dict[str, Sender] = {}
        self._tasks: dict[str, set[asyncio.Task[str]]] = {}

    @contextmanager
    def turn(self, sender: Sender) -> Iterator[None]:
        """Files can be sent. At the end, those on their way are answered with an error."""
        name = sender.session.session_id
        self._senders[name], self._tasks[name] = sender, set()
        try:
            yield
        finally:
            del self._senders[name]
            for task in self._tasks.pop(name):
                task.cancel()

    async def send(self, request: Mapping[str, Any]) -> Json:
        """`{"path", "caption"?, "session"?}` → `{"text"}`, or `{"refused"}` with the reason. Without a session its
        directory tells which is meant."""
        path, caption, session = (request.get(name) or "" for name in ("path", "caption", "session"))
        if not (isinstance(path, str) and isinstance(caption, str) and isinstance(session, str) and path):
            return {"refused": "Nothing was sent: give a path."}
        try:
            sender = self._senders.get(session) if session else self._at(path)
            if sender is None:
                return {"refused": NOBODY}
            return {"text": await self._run(sender, path, caption)}
        except NotSendable as why:
            return {"refused": str(why)}

    async def _run(self, sender: Sender, path: str, caption: str) -> str:
        tasks = self._tasks[sender.session.session_id]
        task = asyncio.create_task(sender.send(path, caption))
        tasks.add(task)
        try:
            await asyncio.wait({task})
            if task.cancelled():
                raise NotSendable(_ENDED)
            return task.result()
        finally:
            tasks.discard(task)
            task.cancel()

    def _at(self, path: str) -> Sender | None:
        """The sender in whose directory the file is."""
        there = [
            one for one in self._senders.values() if Path(path).is_relative_to(Path(one.session.directory).resolve())
        ]
        if len(there) > 1:
            raise NotSendable(_SEVERAL)
        return next(iter(there), None)
