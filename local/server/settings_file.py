"""`settings` in the data directory: variables for the service, written by its user. Unlike `env` it holds secrets of bots.

# a comment
NAME=value        as it is, without the spaces around it; nothing is expanded
NAME='value'      quotes around the whole value are removed, as are "…"
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from local.chats import CHATS
from local.chats.relays.configuration import secret_names, variable
from local.chats.spec import LocalChat
from local.options import PARAMETERS, SECRETS
from local.server.directory import Refused

_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=(.*)")
_QUOTES = ("'", '"')
_HEAD = """\
# Settings of Handoff on this machine. `handoff up` reads them when it starts; restart it after a change.
# One NAME=value in a line. A variable that is set in the environment counts more than the one here.
# This file holds secrets: it is not part of a backup, and only you can read it.
"""


def read_settings(path: Path) -> dict[str, str]:
    """The variables in the file, none if there is no file. Raises Refused, without the content of a line."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise Refused(f"{path} cannot be read: {why}. Nothing was started.") from error
    found: dict[str, str] = {}
    for number, line in enumerate(map(str.strip, lines), 1):
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if not match or "\0" in line:
            raise Refused(f"{path}, line {number}, is not of the form NAME=value. Nothing was started. Mend that line.")
        found[match[1]] = _unquoted(match[2].strip())
    return found


def create_settings(path: Path) -> bool:
    """Write a file in which everything is a comment, unless there is one. Returns whether it was written."""
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return False
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(_HEAD + "".join(_sections()))
    return True


def add_settings(path: Path, values: Mapping[str, str]) -> None:
    """Write variables at the end of the file, which is made if needed. The last line with a name counts."""
    create_settings(path)
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(f'{name}="{value}"\n' for name, value in values.items()))


def known_names() -> list[str]:
    """The variables that the service reads, as far as they may stand in the file."""
    return [*PARAMETERS, *SECRETS, *(name for chat in _chats() for name in _names(chat))]


def _sections() -> Iterator[str]:
    agent = [name for name in (*PARAMETERS, *SECRETS) if name.startswith("HANDOFF_AGENT")]
    yield "\n# The agent, see docs/agents.md. Without one, replies are only rehearsed.\n"
    yield "".join(f"#{name}=\n" for name in agent)
    yield "\n# Words of voice messages, from a server or from a program here, see docs/voice.md.\n"
    voice = [name for name in (*PARAMETERS, *SECRETS) if name.startswith("HANDOFF_VOICE")]
    yield "".join(f"#{name}=\n" for name in (*voice, "HANDOFF_VOICE_COMMAND"))
    for chat in _chats():
        yield f"\n# {chat.spec.title}, see docs/platforms/{chat.name}.md.\n"
        yield "".join(f"#{name}=\n" for name in _names(chat))


def _chats() -> list[LocalChat]:
    return [chat for chat in CHATS if chat.spec.is_supported]


def _names(chat: LocalChat) -> list[str]:
    prefix = chat.name.upper()
    return [*map(variable, secret_names(chat)), f"{prefix}_USER_ID", f"{prefix}_HOME"]


def _unquoted(text: str) -> str:
    is_quoted = len(text) > 1 and text[0] in _QUOTES and text[-1] == text[0]
    return text[1:-1] if is_quoted else text
