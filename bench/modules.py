"""Own modules that one handoff and one status poll enter: how much a reader must know to follow one."""

import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Self

import httpx

from bench.clients import Target, one_by_one
from bench.figures import Figures
from local.server.directory import DataDirectory
from local.server.service import Address, Server

ROOT = Path(__file__).resolve().parent.parent
OWN = tuple(f"{ROOT / package}/" for package in ("functions", "shared", "local", "cli"))
SIMULATED = f"{ROOT / 'local' / 'chats'}/"
"""The platform on the other side, in the same process here."""
ROUNDS = 3


class Entered:
    """Files whose functions are called, in all threads that are started inside."""

    def __init__(self) -> None:
        self._files: set[str] = set()

    def __enter__(self) -> Self:
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def during(self, work: Callable[[], object]) -> set[str]:
        """Those that each of some runs enters: a sweep that happens to run beside one of them is not its."""
        runs = []
        for _ in range(ROUNDS):
            self._files.clear()
            work()
            runs.append(set(self._files))
        return {path for path in set.intersection(*runs) if path.startswith(OWN) and not path.startswith(SIMULATED)}

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            self._files.add(frame.f_code.co_filename)


def run(figures: Figures) -> Iterator[str]:
    """`handoff up` in this process, with simulated chats; the first handoff, which loads modules, is not counted."""
    with (
        tempfile.TemporaryDirectory() as directory,
        Entered() as entered,
        Server(DataDirectory(Path(directory) / "data"), {}, Address(port=0, page_port=0)) as server,
    ):
        target = Target(server.url, server.tokens["owner"])
        one_by_one(target, 1)
        handoff = entered.during(lambda: one_by_one(target, 1))
        (known, *_) = server.store.handoffs.list("owner", session_id=None, state=None, limit=1)
        poll = entered.during(lambda: _get(target, f"/handoffs/{known.id}"))
    figures.note("modules handoff", len(handoff))
    figures.note("modules poll", len(poll))
    yield f"{len(handoff)} modules from the request to completed, {len(poll)} for one status poll"
    by_folder = Counter(_folder(path) for path in handoff), Counter(_folder(path) for path in poll)
    yield f"{'folder':32} handoff  poll"
    for folder in sorted({*by_folder[0], *by_folder[1]}):
        yield f"{folder:32} {by_folder[0][folder]:7} {by_folder[1][folder]:5}"


def _get(target: Target, path: str) -> None:
    httpx.get(target.url + path, headers={"Authorization": f"Bearer {target.token}"}, timeout=60).raise_for_status()


def _folder(path: str) -> str:
    return str(Path(path).relative_to(ROOT).parent)
