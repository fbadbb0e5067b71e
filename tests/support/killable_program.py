"""`python -m local.server` that dies by SIGKILL where a file says so, and tells what a power cut would have left.

    python -m tests.support.killable_program DIRECTORY OPTIONS-OF-THE-SERVER...

DIRECTORY/plans    one JSON object per line: where to die; each plan that names a run is carried out once
DIRECTORY/killed   the plans that were carried out, with the name of the call
DIRECTORY/flushed  the length of the write-ahead log that is on the disk
"""

import json
import os
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

from local.interruptible import interruptible
from local.server.__main__ import end, main
from tests.support.flushed_log import FlushedLog
from tests.support.kill_points import Invocation, Plan
from tests.support.one_machine import WorkerKillPoints

ANY = "*"
"""The subject of a plan for the next run on anything."""


class ProgramKillPoints(WorkerKillPoints):
    """The whole process dies."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self._planned, self._done = directory / "plans", directory / "killed"

    def begin(self, invocation: Invocation, subject: str) -> None:
        super().begin(invocation, subject)
        run, number = invocation.runs[-1], len(self.runs[subject, invocation.function]) - 1
        done = [line["plan"] for line in lines_of(self._done)]
        for line in lines_of(self._planned):
            plan = Plan(**line["plan"])
            is_open = plan.run is None or asdict(plan) | {"subject": line["subject"]} not in done
            is_it = line["subject"] == subject and plan.run in (None, number)
            if is_open and plan.function == invocation.function and (is_it or line["subject"] == ANY):
                run.plan, run.subject = plan, line["subject"]

    def die(self) -> NoReturn:
        current = self.current
        if current is not None and current[1].plan is not None:
            run, plan = current[1], asdict(current[1].plan) | {"subject": current[1].subject}
            line = json.dumps({"subject": run.subject, "plan": plan, "name": self.killed[run.subject]})
            with self._done.open("a") as stream:
                stream.write(f"{line}\n")
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("unreachable")

    def planned_in(self, text: str) -> str:
        planned = [line["subject"] for line in lines_of(self._planned)]
        return next((subject for subject in planned if subject in text), "webhook")


class _Always:
    """Changes that last as long as the program."""

    def setattr(self, target: Any, name: str, value: Any, /) -> None:
        setattr(target, name, value)


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a file that another process may be writing."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


if __name__ == "__main__":
    home = Path(sys.argv.pop(1))
    note = os.open(home / "flushed", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    ProgramKillPoints(home).install(_Always())
    FlushedLog(lambda length: os.pwrite(note, f"{length:020}".encode(), 0)).install(_Always())
    end(interruptible(main, "Stopped."))
