"""The file in which an agent keeps a session, as far as it tells whether another process has written it."""

import json
from collections.abc import Mapping
from pathlib import Path

from handoff_cli.errors import CliError
from handoff_cli.readers.claude_code.find import find_file
from handoff_cli.readers.source import Source

_SPOKEN = ("user", "assistant")


class NativeFile:
    """A session of Claude Code, whose file only grows. `mark` is taken after a turn, when its last words are written."""

    def __init__(self, path: Path, mark: int) -> None:
        self._path, self._mark = path, mark

    @classmethod
    def find(cls, native_id: str, directory: Path, environ: Mapping[str, str]) -> "NativeFile | None":
        """None if there is no such file."""
        try:
            path = find_file(Source(directory, environ, session=native_id))
            return cls(path, path.stat().st_size)
        except (CliError, OSError):
            return None

    def is_as_marked(self) -> bool:
        """Whether nobody has spoken since; titles and the like may have been added."""
        try:
            with self._path.open("rb") as file:
                file.seek(0, 2)
                if file.tell() < self._mark:
                    return False
                file.seek(self._mark)
                return not any(_is_spoken(line) for line in file.read().splitlines())
        except OSError:
            return False


def _is_spoken(line: bytes) -> bool:
    """Whether a record changes the conversation. One that cannot be read may."""
    try:
        record = json.loads(line)
    except ValueError:
        return bool(line.strip())
    kind = record.get("type") if isinstance(record, dict) else None
    is_compaction = kind == "system" and "compact" in str(record.get("subtype", ""))
    return is_compaction or (kind in _SPOKEN and not record.get("isSidechain"))
