"""Sessions of Claude Code: a folder for each directory, a file for each session."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from handoff_cli.readers.claude_code.find import find_file, folder_name, open_sessions
from handoff_cli.readers.claude_code.messages import is_message, is_prompt
from handoff_cli.readers.json_lines import text_of
from handoff_cli.readers.source import Source
from handoff_cli.runner.natives.native import Candidate, Native, Record, head, tail

NAME = "claude-code"
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
_CUT = 200
_LOOK_SECONDS = 1.5
IS_HELD_WHILE_OPEN = False
"""Does the program keep others from writing a session that it has open?"""


def candidates(projects: Sequence[Path], environ: Mapping[str, str]) -> Iterator[Candidate]:
    """The files that may be sessions of these directories, or of directories in them: names alone do not decide."""
    home = Source(Path("/"), environ).home("CLAUDE_CONFIG_DIR", ".claude") / "projects"
    starts = {folder_name(name)[:_CUT] for path in projects for name in (path, path.resolve())}
    # A long name is cut, and a hash follows.
    below = tuple(start if len(start) == _CUT else f"{start}-" for start in starts)
    for folder in home.glob("*"):
        if folder.name not in starts and not folder.name.startswith(below):
            continue
        for path in folder.glob("*.jsonl"):
            if not path.name.startswith("agent-"):
                try:
                    yield Candidate(NAME, path, path.stat().st_mtime)
                except OSError:
                    continue


def look(found: Candidate, environ: Mapping[str, str]) -> Native | None:  # noqa: ARG001 - as for all agents
    """Open the file; None if nothing was said in it."""
    latest = tail(found.path)
    first = next(((line, _text(line)) for line in head(found.path) if is_prompt(line)), None)
    where = next((str(line["cwd"]) for line in latest if line.get("cwd")), "")
    if first is None or not (where := where or str(first[0].get("cwd") or "")):
        return None
    return Native(NAME, found.path.stem, where, _title(latest) or first[1], found.written, found.path)


def open_now(environ: Mapping[str, str]) -> Collection[str] | None:
    """The ids of the sessions that are open in a terminal; None if the program does not tell in time."""
    return open_sessions(environ, seconds=_LOOK_SECONDS)


def file_of(native_id: str, environ: Mapping[str, str]) -> Path:
    """The file of a session. Raises UsageProblem."""
    return find_file(Source(Path("/"), environ, session=native_id))


def is_amid_turn(path: Path) -> bool:
    """Whether its last record waits for an answer of the model, of a tool or of the user's permission."""
    last = next((line for line in tail(path) if is_message(line)), None)
    if last is None:
        return False
    if last["type"] == "user":
        return not last.get("interruptedMessageId")
    return last["message"].get("stop_reason") in (None, "tool_use")


def _title(latest: Sequence[Record]) -> str:
    for kind, key in _TITLES.items():
        for line in latest:
            if line.get("type") == kind and isinstance(line.get(key), str):
                return str(line[key])
    return ""


def _text(line: Record) -> str:
    message = line.get("message")
    return text_of(message.get("content")) if isinstance(message, dict) else ""
