"""Words of voice messages, from the user's own command: it gets the path of a recording as its last argument."""

import asyncio
import re
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from handoff_cli.runner.acp.process import AgentProcess
from handoff_cli.runner.agents.find import without_secrets
from handoff_cli.runner.machine.files import private_directory
from handoff_cli.runner.machine.locks import voice_lock
from handoff_cli.runner.machine.orphans import started_at
from handoff_cli.runner.order import refused
from handoff_cli.runner.runner import Runner

_LONGEST_WORDS = 16_000
_LARGEST = 4 * _LONGEST_WORDS
_NAMED = re.compile(r"([0-9a-f]{64})(\.[a-z0-9]{2,4})")
_FOLDER = "voice"
_NOT_HAD = "its recording cannot be had"
_FAILED = "the transcriber failed"
_LATE = "the transcriber did not answer in time"


def forget_recordings(state: Path) -> None:
    """Remove what a runner that was killed has left. Only for the one runner of the machine, before its first order."""
    for left in (state / _FOLDER).glob("*"):
        with suppress(OSError):
            left.unlink()


class Transcriptions:
    """One at a time: people whom the user let into a thread must not start as many programs here as they say sentences."""

    def __init__(self, runner: Runner) -> None:
        self._runner, self._one = runner, asyncio.Lock()

    async def of(self, session_id: str, named: str) -> dict[str, Any]:
        """The answer to an order that names a stored recording: its words, or why there are none. The recording is not kept."""
        if not (found := _NAMED.fullmatch(named)):
            return refused(_NOT_HAD)
        try:
            async with asyncio.timeout(self._runner.clock.transcribing), self._one:
                return await self._transcribed(session_id, *found.groups())
        except TimeoutError:
            return refused(_LATE)
        except OSError:
            return refused(_FAILED)

    async def _transcribed(self, session_id: str, digest: str, ending: str) -> dict[str, Any]:
        runner = self._runner
        folder = private_directory(runner.state / _FOLDER)
        with tempfile.NamedTemporaryFile(suffix=ending, dir=folder) as recording:
            came = await runner.service.file(session_id, digest, recording.file, most=runner.service.file_limit)
            if came != digest:
                return refused(_NOT_HAD)
            recording.flush()
            return await self._words(session_id, Path(recording.name))

    async def _words(self, session_id: str, path: Path) -> dict[str, Any]:
        """Run the command without a shell, in a process group of its own, which ends with it. Raises OSError."""
        command, environ = (*self._runner.settings.voice, str(path)), without_secrets(self._runner.environ)
        process = await AgentProcess.start(command, environ=environ, directory=path.parent)
        try:
            with voice_lock(self._runner.state) as lock:
                if lock.acquire():  # the next runner ends what a killed one has left
                    lock.note(pid=process.pid, started=started_at(process.pid), agent="voice", session=session_id)
            process.writer.close()
            output = await _read(process.reader)
            code = await process.wait() if len(output) <= _LARGEST else None
        finally:
            await process.stop(patience=0, terminate=0)
        words = " ".join(output.decode("utf-8", "replace").split())
        if code != 0 or len(words) > _LONGEST_WORDS:
            return refused(_FAILED)
        return {"outcome": "done", "text": words}


async def _read(reader: asyncio.StreamReader) -> bytes:
    """What it prints, until that is more than anybody says."""
    output = b""
    while len(output) <= _LARGEST and (block := await reader.read(_LARGEST)):
        output += block
    return output
