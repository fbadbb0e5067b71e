"""Plays the story on the stage: two terminals, and a person who answers in the thread."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from docs.recording import story
from docs.recording.stage import FORUM, Stage
from docs.recording.terminal import CHAT_PROMPT, SHELL_PROMPT, Kept, Terminal

_PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class Played:
    """What was seen: frames of both terminals, the thread at the end, and how often the agent was shown typing in it."""

    first: list[Kept]
    second: list[Kept]
    thread: dict[str, Any]
    typing_shown: int


def play(stage: Stage) -> Played:
    """From the first question to the session's return. Raises TimeoutError if the service does not do its part."""
    with Terminal(stage.environ, stage.directory) as first:
        _leave(first)
    thread = stage.thread()
    if thread is None:
        raise RuntimeError("the handoff ended, and there is no thread")
    stage.service.simulator.say("telegram", FORUM, story.ON_THE_TRAIN, thread=thread["id"])
    _await(lambda: _said(stage) == 3, "an answer in the thread")
    with Terminal(stage.environ, stage.directory) as second:
        _come_back(second)
    _await(lambda: _said(stage) == 4, "a word in the thread that the session went back")
    return Played(first.kept, second.kept, stage.thread() or {}, stage.typing_shown())


def _leave(terminal: Terminal) -> None:
    terminal.rest(700)
    terminal.type(story.START)
    terminal.rest(350)
    terminal.enter(then=CHAT_PROMPT)
    terminal.rest(700)
    for question, reading in ((story.FIRST, 2300), (story.SECOND, 2600)):
        terminal.type(question)
        terminal.rest(350)
        terminal.enter(then=CHAT_PROMPT)
        terminal.rest(reading)
    terminal.type(story.LEAVE)
    terminal.rest(700)
    terminal.enter(then=SHELL_PROMPT)


def _come_back(terminal: Terminal) -> None:
    terminal.rest(900)
    terminal.type(story.BACK)
    terminal.rest(500)
    terminal.enter(then=SHELL_PROMPT)


def _said(stage: Stage) -> int:
    return len((stage.thread() or {"messages": []})["messages"])


def _await(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited in vain for {what}")
        time.sleep(0.05)
