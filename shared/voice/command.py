"""Words from a program on the machine of the service: it gets the path of the recording as its last argument."""

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence

from shared.errors import NotTranscribed
from shared.ports.transcriber import LONGEST_WORDS, Recording, checked_words

_LARGEST = 4 * LONGEST_WORDS
_FAILED = "the transcriber failed"


class CommandTranscriber:
    """Runs the program without a shell, in a process group of its own, which ends with it. Its stdout are the words."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str]) -> None:
        self._command, self._environ = list(command), dict(environ)

    def words(self, recording: Recording, *, seconds: float) -> str:
        is_late = threading.Event()
        try:
            process = subprocess.Popen(  # noqa: S603 - the operator's own command
                [*self._command, str(recording.path)],
                env=self._environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise NotTranscribed(_FAILED) from error

        def stop() -> None:
            is_late.set()
            _end(process)

        timer = threading.Timer(seconds, stop)
        timer.start()
        try:
            with process:
                assert process.stdout is not None  # noqa: S101 - a pipe was asked for
                output = process.stdout.read(_LARGEST + 1)
                if len(output) > _LARGEST:
                    _end(process)
                process.stdout.close()
                code = process.wait()
        finally:
            timer.cancel()
            _end(process)
        if is_late.is_set():
            raise NotTranscribed("the transcriber did not answer in time")
        words = checked_words(output.decode("utf-8", "replace"))
        if code != 0 or len(output) > _LARGEST or words is None:
            raise NotTranscribed(_FAILED)
        return words


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Kill the group. Idempotent: a group that is gone is no error."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
