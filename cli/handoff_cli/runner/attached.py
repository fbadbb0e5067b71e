"""Files of messages on this machine: fetched, checked, and given to the agent as pictures and as paths."""

import asyncio
import base64
import contextlib
import hashlib
import os
import re
import tempfile
import time
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import acp

from handoff_cli.runner.acp.connection import Block
from handoff_cli.runner.machine.files import private_directory
from handoff_cli.runner.wire.service import RunnerService

MOST_PICTURE = 4_000_000
"""Bytes of a picture that is given as such; models refuse larger ones."""
KEEP_SECONDS = 30 * 86_400
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_LONGEST_NAME = 80
_DIGEST = re.compile(r"[0-9a-f]{64}")
_TRIES = 3
_PAUSE = 1.0


@dataclass(frozen=True)
class Attached:
    """What belongs to words: blocks beside them, and a note below them that names each file's path, or why it is not here."""

    blocks: tuple[Block, ...] = ()
    note: str = ""

    def below(self, text: str) -> str:
        """The words with the note, as a paragraph of its own: the words are found again in the agent's session."""
        return "\n\n".join(filter(None, (text, self.note)))


class Files:
    """The files of one session, in the runner's own directory: never in that of the project."""

    def __init__(self, service: RunnerService, state: Path, session_id: str) -> None:
        self._service, self._session_id = service, session_id
        self._root = state / "files"
        self._directory = self._root / hashlib.sha256(session_id.encode()).hexdigest()[:32]

    async def of(self, words: Iterable[Mapping[str, Any]]) -> Attached:
        """Fetch the files of these words. One that cannot be had is named in the note; nothing is raised for it."""
        files = [file for word in words for file in word.get("files") or ()]
        if not files:
            return Attached()
        await asyncio.to_thread(self._prepare)
        paths = {file["id"]: await self._fetched(file) for file in files}
        return await asyncio.to_thread(_attached, files, paths)

    async def _fetched(self, file: Mapping[str, Any]) -> Path | None:
        """Where the file is; None if its bytes cannot be had, or are others than were announced."""
        if not _DIGEST.fullmatch(file["sha256"]):
            return None
        path = self._directory / f"{file['sha256'][:12]}-{local_name(file['name'])}"
        if await asyncio.to_thread(_digest, path) == file["sha256"]:
            return path
        for tries in range(_TRIES):
            if tries:
                await asyncio.sleep(_PAUSE * tries)
            if await self._fetch(file, path):
                return path
        return None

    async def _fetch(self, file: Mapping[str, Any], path: Path) -> bool:
        handle, name = tempfile.mkstemp(dir=self._directory, prefix=".new-")  # with mode 0600
        try:
            with os.fdopen(handle, "wb") as target:
                digest = await self._service.file(self._session_id, file["id"], target, most=file["size"])
                await asyncio.to_thread(os.fsync, target.fileno())
            if digest == file["sha256"]:
                await asyncio.to_thread(os.replace, name, path)
                return True
        except OSError:
            return False
        finally:
            await asyncio.to_thread(_remove, Path(name))
        return False

    def _prepare(self) -> None:
        """Make the directory, and remove what is older than the service keeps it."""
        private_directory(self._root)
        private_directory(self._directory)
        oldest = time.time() - KEEP_SECONDS
        for each in self._root.glob("*/*"):
            with contextlib.suppress(OSError):
                if each.stat().st_mtime < oldest:
                    each.unlink()


def local_name(name: str) -> str:
    """A name that is safe in a directory, a shell and a prompt. Its ending is kept."""
    last = re.split(r"[/\\]", name)[-1]
    plain = "".join(each if each.isalnum() or each in "._-" else "_" for each in unicodedata.normalize("NFC", last))
    stem, dot, ending = plain.strip("._").rpartition(".")
    if not dot:
        return ending[:_LONGEST_NAME] or "file"
    return f"{stem[: _LONGEST_NAME - len(ending[:10]) - 1]}.{ending[:10]}"


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)


def _digest(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def _attached(files: Iterable[Mapping[str, Any]], paths: Mapping[str, Path | None]) -> Attached:
    blocks, lines = list[Block](), list[str]()
    for file in files:
        path = paths[file["id"]]
        if path is None:
            lines.append(f"[Handoff: {local_name(file['name'])} could not be fetched to this machine.]")
            continue
        is_picture = file["type"] in PICTURES
        too_large = is_picture and file["size"] > MOST_PICTURE
        lines.append(f"[Handoff: {path} is the attached file{', too large to be shown to you' if too_large else ''}]")
        if is_picture and not too_large:
            data = base64.b64encode(path.read_bytes()).decode()
            blocks.append(acp.image_block(data, file["type"]))
        else:
            blocks.append(acp.resource_link_block(path.name, path.as_uri(), mime_type=file["type"], size=file["size"]))
    return Attached(tuple(blocks), "\n".join(lines))
