"""Play the story: a real service, the real CLI in a real pseudo-terminal, an answer in the simulated chat."""

import json
import logging
import re
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import pexpect
import pyte

from docs.recording import story
from examples.agent.agent import serve
from local.service import LocalService
from shared.domain.routes import Place

ROOT = Path(__file__).resolve().parents[2]
COLUMNS, ROWS = 76, 28
FORUM = "-1001000000001"
PROMPTS = {"shell": "$ ", "chat": "> "}
_KEY, _LINE, _THINKING = 42, 45, 800
_SLOW_LINES = {"✓": 380, " arrived": 700}  # steps of the handoff, which people watch
_ERASE = "\r\x1b[K"
_PIECES = re.compile(rf"(?<=\n)|(?={re.escape(_ERASE)})")
_BRACKETED_PASTE = 2004 << 5  # as pyte stores private modes; set while prompt_toolkit reads keys
Span = tuple[int, str, str, str]
"""Column, text, CSS classes of the text, CSS class of its background."""


@dataclass(frozen=True)
class Shot:
    """What a terminal shows for some milliseconds."""

    ms: int
    lines: tuple[tuple[Span, ...], ...]
    cursor: tuple[int, int]

    @property
    def text(self) -> str:
        return "\n".join("".join(span[1] for span in line) for line in self.lines)


class Screen(pyte.Screen):
    """pyte has no dim text: draw it in grey."""

    def select_graphic_rendition(self, *codes: int, **more: bool) -> None:
        known = codes if {38, 48} & set(codes) else [90 if code == 2 else code for code in codes]
        super().select_graphic_rendition(*known, **more)


class Terminal:
    """A shell in a pseudo-terminal. A shot is kept after each key and each line, whatever pieces the output comes in."""

    def __init__(self, environ: dict[str, str]) -> None:
        self.shots: list[Shot] = []
        self._screen = Screen(COLUMNS, ROWS)
        self._stream = pyte.Stream(self._screen)
        environ = {**environ, "PS1": PROMPTS["shell"], "TERM": "xterm-256color"}
        size = (ROWS, COLUMNS)
        self._child = pexpect.spawn("/bin/sh", env=environ, cwd=environ["HOME"], encoding="utf-8", dimensions=size)
        self._child.delaybeforesend = None
        self._wait_for("shell")

    def type(self, text: str, *, then: str, read: int = 0) -> None:
        """Type key by key, press Enter, wait for the prompt `then`, and give people time to `read`."""
        for count in range(1, len(text) + 1):
            self._child.send(text[count - 1])
            self._read(lambda typed=text[:count]: self._before_cursor().endswith(typed), lines=False)  # type: ignore[misc]
            self._keep(_KEY)
        self._rest(500)
        self._child.send("\r")
        self._read(lambda: not self._before_cursor().endswith(text), lines=True)
        self._wait_for(then)
        self._rest(read)

    def close(self) -> list[Shot]:
        self._child.close(force=True)
        return self.shots

    def _wait_for(self, prompt: str) -> None:
        def ready() -> bool:
            reads_keys = _BRACKETED_PASTE in self._screen.mode
            return self._before_cursor() == PROMPTS[prompt] and reads_keys == (prompt == "chat")

        self._read(ready, lines=True)
        self._keep(_KEY)
        self._rest(700)

    def _read(self, done: Callable[[], bool], *, lines: bool) -> None:
        while not done():
            for piece in _PIECES.split(self._child.read_nonblocking(4096, timeout=60)):
                if lines and piece.startswith(_ERASE) and "thinking" in self._line(self._screen.cursor.y):
                    self._keep(_THINKING)
                self._stream.feed(piece)
                if lines and piece.endswith("\n"):
                    written = self._line(max(0, self._screen.cursor.y - 1))
                    self._keep(next((ms for words, ms in _SLOW_LINES.items() if words in written), _LINE))

    def _keep(self, ms: int) -> None:
        shot = Shot(ms, tuple(map(self._spans, range(ROWS))), (self._screen.cursor.y, self._screen.cursor.x))
        is_spinning = ms == _THINKING and self.shots and self.shots[-1].ms == _THINKING
        if not is_spinning and (not self.shots or replace(shot, ms=self.shots[-1].ms) != self.shots[-1]):
            self.shots.append(shot)

    def _rest(self, ms: int) -> None:
        self.shots[-1] = replace(self.shots[-1], ms=self.shots[-1].ms + ms)

    def _line(self, row: int) -> str:
        return "".join(self._screen.buffer[row][column].data for column in range(COLUMNS))

    def _before_cursor(self) -> str:
        return self._line(self._screen.cursor.y)[: self._screen.cursor.x]

    def _spans(self, row: int) -> tuple[Span, ...]:
        spans, column = [], 0
        for css, cells in groupby((self._screen.buffer[row][column] for column in range(COLUMNS)), key=_css):
            text = "".join(cell.data for cell in cells)
            if text.strip() or css[1]:
                spans.append((column, text, *css))
            column += len(text)
        return tuple(spans)


def _css(cell: Any) -> tuple[str, str]:
    front, back = (cell.bg, cell.fg) if cell.reverse else (cell.fg, cell.bg)
    flags = {"bold": cell.bold, "italic": cell.italics, "underlined": cell.underscore, f"f-{front}": front != "default"}
    return " ".join(name for name, on in flags.items() if on), "" if back == "default" else f"b-{back}"


def play() -> tuple[list[Shot], list[Shot], dict[str, Any], list[str]]:
    """The terminals at the desk and at home, the thread, and what no picture may show."""
    with _service() as (service, environ):
        desk = Terminal(environ)
        desk.type(story.START, then="chat")
        desk.type(story.FIRST, then="chat", read=1600)
        desk.type(story.SECOND, then="chat", read=1900)
        desk.type(story.LEAVE, then="shell")
        service.simulator.say("telegram", FORUM, story.ON_THE_TRAIN, thread=_thread(service, messages=1)["id"])
        _thread(service, messages=3)
        home = Terminal(environ)
        home.type(story.BACK, then="shell")
        ports = [url.rpartition(":")[2] for url in (service.url, service.simulator.url)]
        private = [*service.tokens.values(), *ports, environ["HOME"], str(ROOT), str(Path.home())]
        return desk.close(), home.close(), _thread(service, messages=4), private


def _thread(service: LocalService, *, messages: int) -> dict[str, Any]:
    """The thread in the forum, once it has so many messages."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        chats = service.simulator.state()["platforms"]["telegram"]["chats"]
        for thread in next(chat["threads"] for chat in chats if chat["id"] == FORUM):
            if len(thread["messages"]) >= messages:
                return dict(thread)
        time.sleep(0.05)
    raise TimeoutError(f"the thread has fewer than {messages} messages")


@contextmanager
def _service() -> Iterator[tuple[LocalService, dict[str, str]]]:
    """A service with the scripted agent, and the environment of a directory in which `handoff` is a command."""
    logging.getLogger().setLevel(logging.ERROR)
    key = secrets.token_hex(16)
    agent = serve(key, 0, story.answer)
    threading.Thread(target=agent.serve_forever, daemon=True).start()
    parameters = {
        "Agent": "http",
        "AgentUrl": f"http://127.0.0.1:{agent.server_port}/",
        "PlatformUrls": json.dumps({"telegram": {"link": "https://t.me"}}),  # no port of this machine in the link
    }
    with (
        LocalService(parameters=parameters, secrets={"agent/key": key}) as service,
        tempfile.TemporaryDirectory() as directory,
    ):
        service.store.accounts.set_home("owner", Place("telegram", FORUM))
        command = Path(directory) / "handoff"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m handoff_cli "$@"\n')
        command.chmod(0o755)
        environ = {
            "PATH": f"{directory}:/usr/bin:/bin",
            "PYTHONPATH": str(ROOT / "cli"),
            "HOME": directory,
            "LANG": "C.UTF-8",
            "HANDOFF_URL": service.url,
            "HANDOFF_TOKEN": service.tokens["owner"],
        }
        warm_up = [str(command), "send", "telegram", "--yes", "--json", "--transcript", "examples/session.jsonl"]
        other = {**environ, "HANDOFF_TOKEN": service.tokens["other"]}
        subprocess.run(warm_up, cwd=ROOT, env=other, check=True, stdout=subprocess.DEVNULL)  # noqa: S603  # our own program
        yield service, environ
    agent.shutdown()
    agent.server_close()
