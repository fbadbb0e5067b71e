"""`make recording-inside`: type /handoff in the real Claude Code and Codex, and draw what they show.

They must be installed (tests/real_agents/install). A fake model answers them from a script.
"""

import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docs.recording.draw import BAR, CELL, LINE, PAD, Picture, animate, terminal, text_at, window
from docs.recording.play import FORUM, Shot, running_service, spans
from local.service import LocalService
from tests.support.fake_model.script import Answer, Call, Say
from tests.support.fake_model.server import FakeModel
from tests.support.real_agents import ROOT, Home, why_absent
from tests.support.tui import Tui
from tests.support.waiting import eventually

DOCS = Path(__file__).resolve().parent.parent
COLUMNS, ROWS = 104, 36
WIDTH, HEIGHT = COLUMNS * CELL + 2 * PAD, BAR + ROWS * LINE + 2 * PAD - 6
WRITE_WORD, SENT, READ, END = 160, 500, 3000, 5000
FIRST = "The nightly export takes an hour now. Where would you look?"
ON_THE_TRAIN = "On the train now. Do I need the index at all?"
THERE = "Not on the first day: one day of orders is small. Measure after the first change."
LAST = "Thanks. What did we decide about the index?"
CAPTION = "Drawn by “make recording-inside”: the real program, a simulated Telegram, scripted answers."


@dataclass(frozen=True)
class Agent:
    """One agent to record: its command as it is typed, and what its screen shows when it is ready."""

    name: str
    title: str
    command: str
    ready: str


AGENTS = (
    Agent("claude-code", "Claude Code", "/handoff", "for agents"),
    Agent("codex", "Codex", "handoff", "Ask Codex to do anything"),
)


def answer(call: Call) -> Answer:
    """The agent's part. It knows the last answer only if it was told what was said in the chat."""
    if call.background or not call.said:
        return Say('{"title": "Nightly export"}')
    if LAST not in call.said[-1]:
        return Say(
            "The query has no bound on the date, so it reads every order ever made. Bound it to yesterday first."
        )
    knows = THERE in str(call.body)
    return Say(
        "In the chat you heard: not on the first day, measure first. So no index yet." if knows else "Which index?"
    )


def answer_there(messages: list[dict[str, Any]], _note: str | None) -> str:
    """The part of the deployment's model, in the chat."""
    return THERE if messages[-1]["content"] == ON_THE_TRAIN else f"I have all {len(messages) - 1} messages."


class Film:
    """The pictures of one program's screen."""

    def __init__(self, screen: Tui, title: str) -> None:
        self._screen, self._title = screen, title
        self.pictures: list[Picture] = []

    def keep(self, ms: int) -> None:
        shot = self._screen.look(
            lambda seen: Shot(
                ms, tuple(spans(seen, row) for row in range(ROWS)), (seen.cursor.y, min(seen.cursor.x, COLUMNS - 1))
            )
        )
        self.pictures.append((ms, (text_at(WIDTH / 2, BAR / 2 + 4.5, self._title, "title"), *terminal(shot))))

    def type(self, text: str, *, until: str) -> None:
        """Type word by word, send it, and keep what is shown then."""
        for word in text.split(" "):
            self._screen.press(word if word == text.split(" ", maxsplit=1)[0] else f" {word}")
            self._screen.shows(word)
            self.keep(WRITE_WORD)
        self.keep(SENT)
        self._screen.press("enter")
        self._screen.shows(until, within=90)
        self._screen.settle()
        self.keep(READ)


@contextmanager
def _opened(home: Home, agent: Agent) -> Iterator[Tui]:
    with home.tui(agent.name, size=(COLUMNS, ROWS)) as screen:
        if agent.name == "codex":
            screen.shows("Trust all and continue", within=90)
            screen.press("down")
            screen.shows("› 2. Trust all and continue")
            screen.press("enter")
        screen.shows(agent.ready, within=90)
        screen.settle()
        yield screen


def record(agent: Agent, service: LocalService, environ: dict[str, str], directory: Path) -> tuple[str, list[str]]:
    """The picture of a handoff, a refused prompt and the way back; and what it may not show."""
    with FakeModel(answer) as model:
        more = {name: environ[name] for name in ("PYTHONPATH", "HANDOFF_URL", "HANDOFF_TOKEN")}
        home = Home(directory / agent.name, model.url, more)
        home.prepare()
        home.run(sys.executable, "-m", "handoff_cli", "install", agent.name, "--yes")
        before = len(_threads(service))
        with _opened(home, agent) as screen:
            film = Film(screen, f"{agent.title}, at your desk")
            film.type(FIRST, until="Bound it to yesterday")
            film.type(f"{agent.command} telegram", until="Bring it back with")
            film.pictures[-1] = (END, film.pictures[-1][1])
            still = len(film.pictures) - 1
            [thread] = _threads(service)[before:]
            film.type("And the index?", until="Nothing was sent")
            screen.press("ctrl-u")
            service.simulator.say("telegram", FORUM, ON_THE_TRAIN, thread=thread["id"])
            eventually(lambda: THERE in str(_threads(service)[before]), within=60)
            film.type(f"{agent.command} back", until="with your next words")
            film.type(LAST, until="So no index yet.")
            film.pictures[-1] = (END, film.pictures[-1][1])
        home.end_daemons()
        private = [model.url.rpartition(":")[2], service.url.rpartition(":")[2], str(directory), str(ROOT)]
    background = window(WIDTH, HEIGHT) + f'<rect width="{WIDTH:g}" height="{HEIGHT:g}" rx="9" class="edge"/>'
    background += text_at(4, HEIGHT + 20, CAPTION, "chat caption")
    size = f"-1 -1 {WIDTH + 2:g} {HEIGHT + 26:g}"
    words = (f"A session moves from {agent.title} to Telegram and back", _description(agent))
    return animate(film.pictures, still, background, size=size, words=words), private


def _description(agent: Agent) -> str:
    return (
        f"In {agent.title}, a person asks a question, then types {agent.command} telegram. The screen shows the link to the "
        f"new thread. The next prompt is refused with the link. After {agent.command} back the conversation goes on, and the "
        "agent knows what was said in the chat."
    )


def _threads(service: LocalService) -> list[dict[str, Any]]:
    chats = service.simulator.state()["platforms"]["telegram"]["chats"]
    return [thread for chat in chats if chat["id"] == FORUM for thread in chat["threads"]]


def main() -> int:
    if reason := why_absent():
        sys.exit(reason)
    wanted = sys.argv[1:]
    with running_service(answer_there) as (service, environ), tempfile.TemporaryDirectory() as directory:
        for agent in AGENTS:
            if wanted and agent.name not in wanted:
                continue
            picture, private = record(agent, service, environ, Path(directory))
            if any(secret in picture for secret in (*private, *service.tokens.values(), socket.gethostname())):
                raise ValueError("details of this machine are in the picture; nothing was written")
            path = DOCS / f"inside-{agent.name}.svg"
            path.write_text(picture, "utf-8")
            sys.stdout.write(f"{path.name}: {len(picture.encode()) // 1024} KB.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
