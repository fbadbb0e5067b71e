"""Words of voice messages, from the user's own command: it gets the path of a recording as its last argument."""

import asyncio
import re
import tempfile
from pathlib import Path
from typing import Any

from handoff_cli.runner.acp.process import AgentProcess
from handoff_cli.runner.order import refused
from handoff_cli.runner.runner import Runner

_LONGEST_WORDS = 16_000
_LARGEST = 4 * _LONGEST_WORDS
_NAMED = re.compile(r"([0-9a-f]{64})(\.[a-z0-9]{2,4})")
_FAILED = "the transcriber failed"
_LATE = "the transcriber did not answer in time"


async def transcribed(runner: Runner, session_id: str, named: str) -> dict[str, Any]:
    """The answer to an order that names a stored recording: its words, or why there are none. The recording is not kept."""
    if not (found := _NAMED.fullmatch(named)):
        return refused("its recording cannot be had")
    digest, ending = found.groups()
    try:
        async with asyncio.timeout(runner.clock.transcribing):
            with tempfile.NamedTemporaryFile(suffix=ending) as recording:
                came = await runner.service.file(session_id, digest, recording.file, most=runner.service.file_limit)
                if came != digest:
                    return refused("its recording cannot be had")
                recording.flush()
                return await _words(runner, Path(recording.name))
    except TimeoutError:
        return refused(_LATE)
    except OSError:
        return refused(_FAILED)


async def _words(runner: Runner, path: Path) -> dict[str, Any]:
    """Run the command without a shell, in a process group of its own, which ends with it. Raises OSError."""
    command = (*runner.settings.voice, str(path))
    process = await AgentProcess.start(command, environ=runner.environ, directory=path.parent)
    try:
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
