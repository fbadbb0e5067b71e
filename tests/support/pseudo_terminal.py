"""How tests type into a real pseudo-terminal and read what it shows."""

import re
from collections.abc import Callable
from typing import Any

import pexpect

Spawn = Callable[..., Any]
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\r")


def type_line(child: Any, text: str) -> None:
    """Types once the prompt is there: it switches bracketed paste on when it is ready."""
    child.expect_exact("\x1b[?2004h")
    child.send(text + "\r")


def ends(child: Any, code: int) -> str:
    """What was shown until the program ended, without its escapes; it must end with this code."""
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == code, child.before
    return ESCAPES.sub("", child.before)


def talking(spawn: Spawn, *options: str) -> Any:
    """`handoff chat`, in which something was said and answered."""
    chat = spawn("chat", *options)
    type_line(chat, "hello")
    chat.expect("You said")
    return chat


def handing_over(spawn: Spawn, *, until: str) -> Any:
    """`handoff chat`, whose session is on its way to Telegram and has got as far as this step."""
    chat = talking(spawn)
    type_line(chat, "/handoff telegram")
    chat.expect(until)
    return chat
