"""Find the file of a Claude Code session: by its id, by what is open now, or the newest one."""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from handoff_cli.errors import UsageProblem
from handoff_cli.readers.claude_code.messages import is_message
from handoff_cli.readers.json_lines import newest, records
from handoff_cli.readers.source import Source, named_session, only_file, several

_TOOL = "claude-code"
_LONGEST_NAME = 200
_SECONDS = 10


def find_file(source: Source) -> Path:
    """The file to read. Raises UsageProblem with what to type if there is none, or several are open."""
    if path := only_file(source, _TOOL):
        return path
    projects = source.home("CLAUDE_CONFIG_DIR", ".claude") / "projects"
    if source.session:
        files = ((path.stem, path) for path in projects.glob("*/*.jsonl") if not _is_helper(path))
        return named_session(files, source.session, _TOOL)
    written = [path for path in newest((projects / folder_name(source.directory)).glob("*.jsonl")) if _has_words(path)]
    if len(written) > 1:
        written = _open_now(source, written) or written
    if written:
        return written[0]
    raise UsageProblem(
        f"No Claude Code session of {source.directory} was found in {projects}. Change to the directory where you "
        f"worked, or name the session with --from {_TOOL}:ID or its file with --transcript."
    )


def folder_name(directory: Path) -> str:
    """The folder of a directory's sessions, as the program names it: a long path is cut and gets a hash."""
    path = str(directory)
    # The program counts UTF-16 units, as JavaScript does.
    raw = path.encode("utf-16-le", "surrogatepass")
    units = [int.from_bytes(raw[at : at + 2], "little") for at in range(0, len(raw), 2)]
    name = "".join(chr(unit) if re.match(r"[A-Za-z0-9]", chr(unit)) else "-" for unit in units)
    if len(name) <= _LONGEST_NAME:
        return name
    total = 0
    for unit in units:
        total = (total * 31 + unit) & 0xFFFFFFFF
    return f"{name[:_LONGEST_NAME]}-{_base36(min(total, 2**32 - total))}"


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits or "0"


def _is_helper(path: Path) -> bool:
    return path.name.startswith("agent-")


def _has_words(path: Path) -> bool:
    return not _is_helper(path) and any(map(is_message, records(path)))


def _open_now(source: Source, written: list[Path]) -> list[Path]:
    """The files whose session is open in this directory; empty if the program cannot tell."""
    open_ids = {str(agent.get("sessionId")) for agent in _agents(source) if agent.get("cwd") == str(source.directory)}
    found = [path for path in written if path.stem in open_ids]
    if len(found) > 1:
        raise several([path.stem for path in found], "Several Claude Code sessions are open in this directory", _TOOL)
    return found


def open_sessions(environ: Mapping[str, str], *, seconds: float = _SECONDS) -> dict[str, str] | None:
    """The ids of the sessions that are open, with what they do; None if the program cannot tell."""
    found = _ask(environ, seconds)
    return None if found is None else {str(agent.get("sessionId")): str(agent.get("status")) for agent in found}


def _agents(source: Source) -> list[dict[str, Any]]:
    return _ask(source.environ, _SECONDS) or []


def _ask(environ: Mapping[str, str], seconds: float) -> list[dict[str, Any]] | None:
    program = shutil.which("claude", path=environ.get("PATH", ""))
    if program is None:
        return None
    try:
        done = subprocess.run(  # noqa: S603 - the user's own program, with fixed arguments
            [program, "agents", "--json"],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=True,
        )
        answer = json.loads(done.stdout)
    except (OSError, ValueError, RecursionError, subprocess.SubprocessError):
        return None
    return [agent for agent in answer if isinstance(agent, dict)] if isinstance(answer, list) else None
