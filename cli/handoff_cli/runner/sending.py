"""One turn's files: check, ask where others read along, store, and have them posted."""

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from handoff_cli.runner.excerpt import cut
from handoff_cli.runner.exchange import Exchange
from handoff_cli.runner.machine.sessions import HandedOver
from handoff_cli.runner.outgoing.opened import NotSendable, OpenedFile, TextFile, megabytes, opened
from handoff_cli.runner.questions.permission import Option, Permission
from handoff_cli.runner.questions.shown import Shown
from handoff_cli.runner.questions.visible import ENTRY, visible
from handoff_cli.runner.runner import Runner
from handoff_cli.runner.wire.verdicts import Verdict
from handoff_cli.transcripts.likely_secrets import mask_words

_LONGEST_CAPTION = 4000
_KNOWN_SECONDS = 45.0
"""Shorter than agents wait for a tool."""
_TRIES = 4
_ALLOW = "allow"
_OPTIONS = (Option(_ALLOW, "allow_once", "Send it"), Option("reject", "reject_once", "Do not send"))

Json = dict[str, Any]


class Sending:
    """The sender of one turn at its fence. The runner checks, not the process that asks: any tool can be that."""

    def __init__(self, runner: Runner, session: HandedOver, exchange: Exchange, *, shared: bool = False) -> None:
        self.session = session
        self._runner, self._exchange = runner, exchange
        self._asks = shared or _is_home(Path(session.directory), runner.environ)

    async def send(self, path: str, caption: str) -> str:
        """Send a file; returns what became of it, as a sentence. Raises NotSendable."""
        caption = cut(mask_words(caption.strip())[0], _LONGEST_CAPTION)
        with ExitStack() as stack:
            limit = self._runner.service.file_limit
            file = await asyncio.to_thread(stack.enter_context, opened(Path(self.session.directory), path, limit=limit))
            return await self._send(file, caption)

    async def _send(self, file: OpenedFile, caption: str) -> str:
        number, asked = self._exchange.next_file(), dict[str, int]()
        if self._asks:
            asked = await self._ask(file, caption)
        about = {"file": await self._store(file), "caption": caption, "path": file.path}
        became = await self._posted(number, {**about, **asked})
        if became and became["state"] == "ask" and not asked:
            # The thread was shared since the turn was claimed.
            asked = await self._ask(file, caption)
            became = await self._posted(number, {**about, **asked})
        for question in asked.values():
            self._exchange.reached(f"q{question}")
        self._runner.report.log("file", session=self.session.session_id, state=became["state"] if became else "?")
        match became and became["state"]:
            case "sent":
                return f"{file.name} was sent to the chat."
            case "doubtful":
                return f"It is not known whether {file.name} arrived in the chat. It is not sent again."
            case None:
                return f"{file.name} is being sent; it is not known yet whether it arrives. Do not send it again."
        reason = (became and became.get("reason")) or "the chat does not take it"
        raise NotSendable(f"{file.path} was not sent: {reason}.")

    async def _posted(self, number: int, about: Json) -> Json | None:
        """None if it is not known in time."""
        try:
            async with asyncio.timeout(_KNOWN_SECONDS):
                return await self._exchange.send(number, about)
        except TimeoutError:
            return None

    async def _ask(self, file: OpenedFile, caption: str) -> dict[str, int]:
        """The number of the question that allowed it. Raises NotSendable."""
        lines = [f"{ENTRY} path: {file.path}", f"{ENTRY} size: {megabytes(file.size)}"]
        lines += [f"{ENTRY} caption: {visible(caption)}"] if caption else []
        shown = Shown(f"Send {file.name} to this chat?", "\n".join(lines))
        name, chosen = await self._exchange.ask_held(Permission(shown, "other", _OPTIONS))
        if chosen != _ALLOW:
            self._exchange.reached(name)
            raise NotSendable(f"{file.path} was not sent: it was not allowed.")
        return {"asked": int(name.removeprefix("q"))}

    async def keep_text(self, name: str, text: str) -> str:
        """The id of a stored file with this text; empty if it cannot be stored."""
        file = TextFile(name, text.encode("utf-8", "replace"))
        if "sends" not in self._runner.service.accepts or file.size > self._runner.service.file_limit:
            return ""
        try:
            return await self._store(file)
        except NotSendable:
            return ""

    async def _store(self, file: OpenedFile | TextFile) -> str:
        return await store_file(self._runner, self.session.session_id, file)


async def store_file(runner: Runner, session_id: str, file: OpenedFile | TextFile) -> str:
    """The id of a file that the service has stored with a session. Raises NotSendable."""
    failures = 0
    while True:
        answer = await runner.service.store_file(session_id, file)
        if answer.verdict is Verdict.GO_ON:
            return str(answer.body["id"])
        failures += 1
        if answer.verdict is not Verdict.RETRY or failures == _TRIES:
            raise NotSendable(f"{file.path} was not sent: {answer.why}.")
        await runner.back_off(failures, answer)


def _is_home(directory: Path, environ: Mapping[str, str]) -> bool:
    """Whether the directory holds all of the user's files: there, more than a project could be sent."""
    home = environ.get("HOME")
    return bool(home) and Path(str(home)).resolve().is_relative_to(directory.resolve())
