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
