"""The first message (seed) of a Discord thread, with a reference by which it is found after an interruption."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from shared.platforms.markdown.clean import title as one_line

NO_MENTIONS: Mapping[str, Any] = {"parse": []}
_NAME_LIMIT = 80
_MOST_PEOPLE = 20
_MARKUP = r"[\\*_~`|<>#@]"


def nonce(key: str) -> str:
    """A key as a nonce: Discord allows 25 characters."""
    return hashlib.sha256(key.encode()).hexdigest()[:24]


def name(title: str) -> str:
    """A title as a thread's name."""
    return one_line(title, _NAME_LIMIT)


def seed(title: str, key: str, people: Sequence[str]) -> str:
    """The title in bold; below, in small print, the people of the thread (not notified) and the reference of the key."""
    small_print = " ".join([*(f"<@{person}>" for person in people[:_MOST_PEOPLE]), f"ref {nonce(key)}"])
    bold = re.sub(f"({_MARKUP})", r"\\\1", name(title))
    return f"**{bold}**\n-# {small_print}"


def is_ours(message: Mapping[str, Any], me: str, key: str) -> bool:
    """Whether the bot `me` posted this message as the seed of this key."""
    return str(message["author"]["id"]) == me and _small_print(message).endswith(f"ref {nonce(key)}")


def people_in(message: Mapping[str, Any]) -> list[str]:
    """The people of the thread, read from its seed."""
    return re.findall(r"<@(\d+)>", _small_print(message))


def title_in(message: Mapping[str, Any]) -> str:
    """The title, read from its seed."""
    first = str(message["content"]).partition("\n")[0]
    return re.sub(rf"\\({_MARKUP})", r"\1", first.removeprefix("**").removesuffix("**"))


def _small_print(message: Mapping[str, Any]) -> str:
    return str(message.get("content", "")).rpartition("\n")[2]
