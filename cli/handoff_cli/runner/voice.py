"""Words of voice messages, from the user's own command: it gets the path of a recording as its last argument."""

import asyncio
import re
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from handoff_cli.runner.machine.files import private_directory
from handoff_cli.runner.machine.locks import voice_lock
from handoff_cli.runner.machine.orphans import started_at
from handoff_cli.runner.order import refused
from handoff_cli.runner.runner import Runner
from handoff_cli.runner.transcriber import FAILED, LATE, spoken_words

_NAMED = re.compile(r"([0-9a-f]{64})(\.[a-z0-9]{2,4})")
_FOLDER = "voice"
_NOT_HAD = "its recording cannot be had"


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
            return refused(LATE)
        except OSError:
            return refused(FAILED)

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
        """Raises OSError."""
        runner = self._runner

        def started(pid: int) -> None:
            with voice_lock(runner.state) as lock:
                if lock.acquire():  # the next runner ends what a killed one has left
                    lock.note(pid=pid, started=started_at(pid), agent="voice", session=session_id)

        words = await spoken_words(runner.settings.voice, path, runner.environ, started)
        return refused(FAILED) if words is None else {"outcome": "done", "text": words}
