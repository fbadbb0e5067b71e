"""The user's own program that transcribes: it gets the path of a recording as its last argument, and prints the words."""

import asyncio
import tempfile
import wave
from collections.abc import Callable, Mapping
from pathlib import Path

from handoff_cli.runner.acp.process import AgentProcess
from handoff_cli.runner.agents.find import without_secrets

LONGEST_WORDS = 16_000
FAILED = "the transcriber failed"
LATE = "the transcriber did not answer in time"
_LARGEST = 4 * LONGEST_WORDS
_RATE = 16_000


async def spoken_words(
    command: tuple[str, ...], path: Path, environ: Mapping[str, str], started: Callable[[int], None]
) -> str | None:
    """What it prints, as one line; None if it fails. Raises OSError.

    It runs without a shell and without the user's tokens. All processes that it has started are ended with it.
    """
    process = await AgentProcess.start((*command, str(path)), environ=without_secrets(environ), directory=path.parent)
    try:
        started(process.pid)
        process.writer.close()
        output = await _read(process.reader)
        code = await process.wait() if len(output) <= _LARGEST else None
    finally:
        await process.stop(patience=0, terminate=0)
    words = " ".join(output.decode("utf-8", "replace").split())
    return words if code == 0 and len(words) <= LONGEST_WORDS else None


async def problem_of(command: tuple[str, ...], environ: Mapping[str, str], seconds: float) -> str | None:
    """Why the program does not work, from a second of silence; None if it does."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "silence.wav"
        with wave.open(str(path), "wb") as silence:
            silence.setnchannels(1)
            silence.setsampwidth(2)
            silence.setframerate(_RATE)
            silence.writeframes(bytes(2 * _RATE))
        try:
            async with asyncio.timeout(seconds):
                words = await spoken_words(command, path, environ, lambda _: None)
        except TimeoutError:
            return LATE
        except OSError as error:
            return f"it cannot be started ({error.strerror})"
    return FAILED if words is None else None


async def _read(reader: asyncio.StreamReader) -> bytes:
    """What it prints, until that is more than anybody says."""
    output = b""
    while len(output) <= _LARGEST and (block := await reader.read(_LARGEST)):
        output += block
    return output
