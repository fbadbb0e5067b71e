"""List native sessions for a chat, under ids that this machine makes, and find one of them again."""

import hashlib
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from handoff_cli.errors import CliError
from handoff_cli.runner.machine.files import private_directory, read_json, write_json
from handoff_cli.runner.machine.projects import Projects
from handoff_cli.runner.machine.sessions import Sessions
from handoff_cli.runner.natives import claude_code, codex
from handoff_cli.runner.natives.native import Candidate, Native
from handoff_cli.transcripts.likely_secrets import mask_words
from handoff_cli.ui.text import one_line

AGENTS = {claude_code.NAME: claude_code, codex.NAME: codex}
WITHOUT_WORD, WITH_WORD = 10, 200
"""How many files are opened at most."""
_TITLE = 120
_KEPT, _KEPT_SECONDS = 500, 24 * 3600
_FILE = "listed.json"
_MOST = 50


@dataclass(frozen=True)
class Found:
    """Sessions, newest first, each with its project; and how many files were not opened."""

    sessions: list[tuple[str, Native]]
    left: int


@dataclass(frozen=True)
class Listing:
    """The sessions of this machine as a chat may see them."""

    projects: Projects
    agents: Collection[str]
    environ: Mapping[str, str]
    state: Path
    url: str

    def find(self, word: str) -> Found:
        """The newest sessions of listed projects; with a word those that have it in their title, or first words."""
        every = sorted(self._candidates(), key=lambda found: found.written, reverse=True)
        opened = every[: WITH_WORD if word else WITHOUT_WORD]
        found: dict[tuple[str, str], tuple[str, Native]] = {}
        for candidate in opened:
            native = AGENTS[candidate.agent].look(candidate, self.environ)
            label = self.projects.label_of(native.directory) if native else None
            if native is None or label is None or word.casefold() not in native.title.casefold():
                continue
            # A rewound thread of Codex has several files: the newest has its end.
            found.setdefault((native.agent, native.native_id), (label, native))
        return Found(list(found.values())[:_MOST], len(every) - len(opened))

    def body(self, found: Found) -> list[dict[str, Any]]:
        """The sessions as the service takes them: no path, no id of an agent, likely secrets masked."""
        now = time.time()
        known = {
            (one.agent, one.native_id): one.session_id for one in Sessions(self.state).all() if one.url == self.url
        }
        opened = {agent: AGENTS[agent].open_now(self.environ) for agent in {one.agent for _, one in found.sessions}}
        self._keep({listed_id(native): native for _, native in found.sessions})
        return [
            {
                "id": listed_id(native),
                "title": one_line(mask_words(native.title[: 4 * _TITLE])[0], _TITLE),
                "project": label,
                "agent": native.agent,
                "age": max(0, int(now - native.written)),
                "open": _is_among(opened[native.agent], native),
                "session_id": known.get((native.agent, native.native_id)),
            }
            for label, native in found.sessions
        ]

    def again(self, wanted: str) -> tuple[str, Native] | None:
        """The session that was listed under an id, as its file is now; None if it is gone, or in no listed project."""
        kept = _kept(self.state).get(wanted)
        if kept is None:
            return None
        found = self.at(str(kept.get("agent")), Path(str(kept.get("path"))))
        return found if found is not None and listed_id(found[1]) == wanted else None

    def handed_over(self, session_id: str) -> tuple[str, Native] | None:
        """A session that this machine has handed over before, likewise."""
        entry = Sessions(self.state).find(session_id)
        if entry is None or entry.url != self.url or not entry.native_id or entry.agent not in AGENTS:
            return None
        try:
            return self.at(entry.agent, AGENTS[entry.agent].file_of(entry.native_id, self.environ))
        except CliError:
            return None

    def at(self, agent: str, path: Path) -> tuple[str, Native] | None:
        """The session in a file, with its project; None if it is gone, or in no listed project."""
        if agent not in self.agents or agent not in AGENTS or not path.is_file():
            return None
        native = AGENTS[agent].look(Candidate(agent, path, path.stat().st_mtime), self.environ)
        label = self.projects.label_of(native.directory) if native else None
        if native is None or label is None:
            return None
        return label, replace(native, is_open=_is_among(AGENTS[agent].open_now(self.environ), native))

    def _candidates(self) -> list[Candidate]:
        directories = list(self.projects.directories.values())
        return [
            candidate
            for name, agent in AGENTS.items()
            if name in self.agents
            for candidate in agent.candidates(directories, self.environ)
        ]

    def _keep(self, natives: Mapping[str, Native]) -> None:
        """Remember which session an id stands for. Another process of this runner may bring it."""
        now = time.time()
        new = {key: {"agent": one.agent, "path": str(one.path), "at": now} for key, one in natives.items()}
        old = {key: one for key, one in _kept(self.state).items() if now - float(one.get("at") or 0) < _KEPT_SECONDS}
        write_json(private_directory(self.state) / _FILE, dict(list({**old, **new}.items())[-_KEPT:]))


_FRESH = 120.0


def is_amid_turn(native: Native) -> bool:
    """Whether a program in a terminal works on it: a turn that was left unfinished long ago counts only while it is open."""
    agent = AGENTS[native.agent]
    return agent.is_amid_turn(native.path) and (native.is_open is True or time.time() - native.written < _FRESH)


def listed_id(native: Native) -> str:
    """Names a session to the service, and tells nothing of it."""
    return hashlib.sha256(f"{native.agent}\0{native.native_id}".encode("utf-8", "surrogatepass")).hexdigest()[:24]


def is_held(native: Native, environ: Mapping[str, str]) -> bool:
    """Whether a program has it open that lets no other one write it."""
    agent = AGENTS[native.agent]
    return agent.IS_HELD_WHILE_OPEN and _is_among(agent.open_now(environ), native) is True


def _is_among(opened: Collection[str] | None, native: Native) -> bool | None:
    return None if opened is None else native.native_id in opened


def _kept(state: Path) -> dict[str, dict[str, Any]]:
    return {key: one for key, one in (read_json(state / _FILE) or {}).items() if isinstance(one, dict)}
