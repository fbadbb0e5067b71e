"""Type into a program on a real pseudo-terminal and read what it shows."""

import re
from collections.abc import Callable
from typing import Any

import pexpect

Spawn = Callable[..., Any]
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\r")
PROMPT_READY = "\x1b[?2004h"
"""The prompt switches bracketed paste on when it is ready for input."""


def type_line(child: Any, text: str) -> None:
    """Wait for the prompt, then type the line."""
    child.expect_exact(PROMPT_READY)
    child.send(text + "\r")


def ends(child: Any, code: int) -> str:
    """Wait for the program to end with this code; returns what it showed, without escape sequences."""
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == code, child.before
    return ESCAPES.sub("", child.before)


def chat_with_reply(spawn: Spawn, *options: str) -> Any:
    """`handoff chat` after one message and its reply."""
    chat = spawn("chat", *options)
    type_line(chat, "hello")
    chat.expect("You said")
    return chat


def chat_during_handoff(spawn: Spawn, *, until: str) -> Any:
    """`handoff chat` during a handoff to Telegram that has reached this step."""
    chat = chat_with_reply(spawn)
    type_line(chat, "/handoff telegram")
    chat.expect(until)
    return chat
