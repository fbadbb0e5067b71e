"""Codex CLI: `~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`, records of `{timestamp, type, payload}`."""

from collections.abc import Iterator
from pathlib import Path

from handoff_cli.errors import UsageProblem
from handoff_cli.readers.codex.messages import messages_of
from handoff_cli.readers.codex.records import Record, meta_of, read_thread, unwrapped
from handoff_cli.readers.json_lines import first_record, newest, records
from handoff_cli.readers.source import Source, named_session, only_file
from handoff_cli.transcripts.messages import Transcript
from handoff_cli.transcripts.pictures import Picture
from handoff_cli.transcripts.pictures import newest as newest_pictures

_TOOL = "codex"
_INCOMPLETE = "the beginning of this session is in another file, which was not found: it is not part of the handoff"


def read(source: Source) -> Transcript:
    """The named thread, or the newest one in the directory that is not a sub-agent's."""
    home = source.home("CODEX_HOME", ".codex")
    folders = [home / "sessions", home / "archived_sessions"]
    path = only_file(source, _TOOL) or (_named(source, folders) if source.session else _newest(source, folders))
    thread = read_thread(path, folders)
    pictures: list[Picture] = []
    messages = messages_of(thread.records, pictures)
    if not messages:
        raise UsageProblem(f"{path} is not a conversation of Codex.")
    meta = meta_of(list(records(path))[:1])
    return Transcript(
        messages,
        title=_title(home / "session_index.jsonl", str(meta.get("id") or "")),
        model=_model(thread.records),
        cwd=str(meta["cwd"]) if meta.get("cwd") else None,
        notes=() if thread.complete else (_INCOMPLETE,),
        native_id=str(meta["id"]) if meta.get("id") and not source.path else None,
        pictures=newest_pictures(pictures),
    )


def _newest(source: Source, folders: list[Path]) -> Path:
    for path, meta in _threads(folders):
        mine = meta.get("cwd") == str(source.directory) and not _is_helper(meta)
        if mine and messages_of(read_thread(path, folders).records):
            return path
    raise UsageProblem(
        f"No Codex session of {source.directory} was found in {folders[0]}. Change to the directory where you "
        f"worked, or name the session with --from {_TOOL}:ID or its file with --transcript."
    )


def _named(source: Source, folders: list[Path]) -> Path:
    # A rewound thread has several files with the same id: the one with the newest name has its end.
    files = sorted(_threads(folders), key=lambda found: found[0].name)
    return named_session(((str(meta.get("id") or ""), path) for path, meta in files), str(source.session), _TOOL)


def _threads(folders: list[Path]) -> Iterator[tuple[Path, Record]]:
    """Every file with its first record, newest first."""
    for path in newest(path for folder in folders for path in folder.rglob("rollout-*.jsonl")):
        yield path, meta_of([first_record(path)])


def _is_helper(meta: Record) -> bool:
    """A sub-agent's thread: its `source` is an object that says whose, not the name of a program."""
    return meta.get("thread_source") == "subagent" or isinstance(meta.get("source"), dict)


def _model(lines: list[Record]) -> str | None:
    contexts = (payload for kind, payload in map(unwrapped, reversed(lines)) if kind == "turn_context")
    return next((str(context["model"]) for context in contexts if context.get("model")), None)


def _title(index: Path, session_id: str) -> str | None:
    if not session_id or not index.is_file():
        return None
    names = [line.get("thread_name") for line in records(index) if line.get("id") == session_id]
    return next((name for name in reversed(names) if isinstance(name, str) and name), None)
