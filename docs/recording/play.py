"""Play the story: a real service, the real CLI in a real pseudo-terminal, an answer in the simulated chat."""

import colorsys
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

import httpx
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
NATIVE_ID = "8d1c2a64-5b1f-4f0e-9a3d-7c6b5e4f3a21"
PATIENCE = 180.0
SETTLES = 2.0
"""Seconds in which the progress message shrinks, if there is one: a quick agent has none."""
_KEY, _LINE, _THINKING = 42, 45, 800
_SLOW_LINES = {"✓": 380, " arrived": 700}  # steps of the handoff, which people watch
_ERASE = "\r\x1b[K"
_PIECES = re.compile(rf"(?<=\n)|(?={re.escape(_ERASE)})")
_BRACKETED_PASTE = 2004 << 5  # as pyte stores private modes; set while prompt_toolkit reads keys
_HUES = ("red", "brown", "green", "cyan", "blue", "magenta")
_GREY, _BRIGHT = 0.15, 0.65
Span = tuple[int, str, str, str]
"""Column, text, CSS classes of the text, CSS class of its background."""


@dataclass(frozen=True)
class Shot:
    """The content of a terminal for some milliseconds."""

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
        shot = Shot(
            ms, tuple(spans(self._screen, row) for row in range(ROWS)), (self._screen.cursor.y, self._screen.cursor.x)
        )
        is_spinning = ms == _THINKING and self.shots and self.shots[-1].ms == _THINKING
        if not is_spinning and (not self.shots or replace(shot, ms=self.shots[-1].ms) != self.shots[-1]):
            self.shots.append(shot)

    def _rest(self, ms: int) -> None:
        self.shots[-1] = replace(self.shots[-1], ms=self.shots[-1].ms + ms)

    def _line(self, row: int) -> str:
        return "".join(self._screen.buffer[row][column].data for column in range(COLUMNS))

    def _before_cursor(self) -> str:
        return self._line(self._screen.cursor.y)[: self._screen.cursor.x]


def _css(cell: Any) -> tuple[str, str]:
    front, back = (cell.bg, cell.fg) if cell.reverse else (cell.fg, cell.bg)
    front, back = named(front), "default" if back == "default" else named(back, is_back=True)
    flags = {"bold": cell.bold, "italic": cell.italics, "underlined": cell.underscore, f"f-{front}": front != "default"}
    return " ".join(name for name, on in flags.items() if on), "" if back == "default" else f"b-{back}"


def named(colour: str, *, is_back: bool = False) -> str:
    """A colour of the picture's palette, which follows the reader's light or dark theme."""
    if len(colour) != 6 or not set(colour) <= set("0123456789abcdef"):
        return colour
    if is_back:
        return "black"
    hue, lightness, saturation = colorsys.rgb_to_hls(*(int(colour[at : at + 2], 16) / 255 for at in (0, 2, 4)))
    if saturation < _GREY:
        return "default" if lightness > _BRIGHT else "brightblack"
    return _HUES[round(hue * 6) % 6]


def spans(screen: pyte.Screen, row: int) -> tuple[Span, ...]:
    """The runs of one look in a row of a screen."""
    found, column = [], 0
    for css, cells in groupby((screen.buffer[row][column] for column in range(screen.columns)), key=_css):
        text = "".join(cell.data for cell in cells)
        if text.strip() or css[1]:
            found.append((column, text, *css))
        column += len(text)
    return tuple(found)


@dataclass(frozen=True)
class Played:
    """The terminals at the desk and at home, the thread at five moments, and what no picture may show."""

    desk: list[Shot]
    home: list[Shot]
    confirmed: dict[str, Any]
    chosen: dict[str, Any]
    asked: dict[str, Any]
    answered: dict[str, Any]
    left: dict[str, Any]
    private: list[str]


def play() -> Played:
    with running_service(story.answer) as (service, environ), runner_of(service, environ):
        desk = Terminal(environ)
        desk.type(story.LEAVE, then="shell", read=1500)
        confirmed = thread_with(service, story.CONFIRMED)
        service.simulator.say("telegram", FORUM, story.ON_THE_TRAIN, thread=confirmed["id"])
        chosen = thread_with(service, story.CHOICE)
        press(service, chosen)
        asked = thread_with(service, story.COMMAND)
        press(service, asked)
        thread_with(service, story.DONE)
        thread_with(service, "✓ Yes")
        time.sleep(SETTLES)
        answered = thread_with(service, story.DONE)
        home = Terminal(environ)
        home.type(story.BACK, then="shell")
        left = thread_with(service, "went back to the terminal")
        ports = [url.rpartition(":")[2] for url in (service.url, service.simulator.url)]
        private = [*service.tokens.values(), *ports, environ["HOME"], str(ROOT), str(Path.home())]
        return Played(desk.close(), home.close(), confirmed, chosen, asked, answered, left, private)


def thread_with(service: LocalService, text: str) -> dict[str, Any]:
    """The story's thread, once one of its messages has this text."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        chats = service.simulator.state()["platforms"]["telegram"]["chats"]
        for thread in next(chat["threads"] for chat in chats if chat["id"] == FORUM):
            is_ours = story.TITLE_OF_SESSION in thread["title"]
            if is_ours and any(text in message["text"] for message in thread["messages"]):
                return dict(thread)
        time.sleep(0.05)
    raise TimeoutError(f"no message of the thread has the text {text!r}")


def press(service: LocalService, thread: dict[str, Any]) -> None:
    """Press the first button of what is asked last."""
    question = next(message for message in reversed(thread["messages"]) if message.get("buttons"))
    where = {"platform": "telegram", "chat": FORUM, "thread": thread["id"], "user": "owner"}
    button = {"message": question["id"], "button": question["buttons"][0]["id"]}
    httpx.post(f"{service.simulator.url}/press", json={**where, **button}).raise_for_status()


@contextmanager
def runner_of(service: LocalService, environ: dict[str, str]) -> Iterator[None]:
    """The real runner, with the scripted agent in place of Claude Code, and a session of it in the terminal."""
    home = Path(environ["HOME"])
    _write_session(home)
    config = home / ".config" / "handoff" / "runner.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f"agents.claude-code = {json.dumps([sys.executable, '-m', 'docs.recording.agent'])}\n")
    own = {**environ, "PYTHONPATH": f"{ROOT}:{environ['PYTHONPATH']}"}
    command = [sys.executable, "-m", "handoff_cli", "run", "--agent", "claude-code", "--name", "desk"]
    runner = subprocess.Popen(command, env=own, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)  # noqa: S603  # see below
    try:
        _wait_online(service)
        yield
    finally:
        runner.terminate()
        runner.wait(30)


def _wait_online(service: LocalService) -> None:
    headers = {"Authorization": f"Bearer {service.tokens['owner']}"}
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if httpx.get(f"{service.url}/runners", headers=headers, timeout=30).json()["runners"]:
            return
        time.sleep(0.1)
    raise TimeoutError("the runner does not start")


def _write_session(directory: Path) -> None:
    """A session as Claude Code stores it."""
    folder = directory / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(directory))
    folder.mkdir(parents=True)
    lines, last = [], None
    for number, text in enumerate(story.SAID):
        role = "user" if number % 2 == 0 else "assistant"
        content: Any = text if role == "user" else [{"type": "text", "text": text}]
        record = {"type": role, "uuid": f"r{number}", "parentUuid": last, "sessionId": NATIVE_ID, "cwd": str(directory)}
        lines.append(json.dumps({**record, "message": {"role": role, "content": content}}))
        last = f"r{number}"
    (folder / f"{NATIVE_ID}.jsonl").write_text("\n".join(lines) + "\n")


@contextmanager
def running_service(
    answer: Callable[[list[dict[str, Any]], str | None], str],
) -> Iterator[tuple[LocalService, dict[str, str]]]:
    """A service with a scripted agent, and the environment of a directory in which `handoff` is a command."""
    logging.getLogger().setLevel(logging.ERROR)
    key = secrets.token_hex(16)
    agent = serve(key, 0, answer)
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
