"""Brings sessions from other tools: one module per tool, each with `read(source) -> Transcript`."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

from handoff_cli.readers.fitting import fit
from handoff_cli.sessions.transcripts import Transcript, check

READERS = {
    "claude-code": "claude_code",
    "codex": "codex",
    "hermes": "hermes",
    "openai": "openai_messages",
}


@dataclass(frozen=True)
class Source:
    """Where to look: the person's directory and home, or one file if they named it."""

    directory: Path
    environ: Mapping[str, str]
    path: Path | None = None

    def home(self, variable: str, default: str) -> Path:
        """A tool's own folder: what its variable says, else its default below the home directory."""
        if named := self.environ.get(variable):
            return Path(named).expanduser()
        return Path(self.environ.get("HOME") or Path.home()) / default


def read(name: str, source: Source) -> Transcript:
    """The newest session of the directory as that tool kept it. Raises UsageProblem if there is none."""
    transcript: Transcript = import_module(f"handoff_cli.readers.{READERS[name]}").read(source)
    messages, cut = fit(transcript.messages)
    check(messages, name)
    notes = [*transcript.notes, *([f"{cut} messages were longer than 256 KiB and were cut"] if cut else [])]
    return replace(transcript, messages=messages, source=name, notes=tuple(notes))
