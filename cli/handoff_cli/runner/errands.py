"""What orders ask of this machine without an agent: list native sessions, bring one, begin one, show what changed."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

from handoff_cli.errors import CliError
from handoff_cli.handoff.upload import pieces
from handoff_cli.readers.read import read_session
from handoff_cli.readers.source import Source
from handoff_cli.runner.acp.options import DIALS
from handoff_cli.runner.machine.locks import session_lock
from handoff_cli.runner.machine.projects import Projects, read_projects
from handoff_cli.runner.machine.sessions import HandedOver, first_id
from handoff_cli.runner.natives.aligned import ALIGNED_BY, after_stored
from handoff_cli.runner.natives.listing import WITH_WORD, WITHOUT_WORD, Listing, is_amid_turn, is_held
from handoff_cli.runner.natives.native import Native
from handoff_cli.runner.order import Json, refused, repeated
from handoff_cli.runner.outgoing.opened import NotSendable, TextFile, megabytes
from handoff_cli.runner.runner import Runner
from handoff_cli.runner.sending import store_file
from handoff_cli.runner.voice import Transcriptions
from handoff_cli.runner.wire.verdicts import Answer, Verdict
from handoff_cli.runner.working_tree import WorkingTree
from handoff_cli.transcripts import likely_secrets
from handoff_cli.transcripts.messages import Message, Transcript
from handoff_cli.ui.text import one_line

SESSIONS, BRING, BEGIN, DIFF, TRANSCRIBE = "sessions", "bring", "begin", "diff", "transcribe"
OF_SESSIONS = frozenset({DIFF, TRANSCRIBE})
"""Kinds that concern a session and need no agent."""
_OFF = "Sessions of this machine are not listed or brought. To allow that: handoff projects bring on"
_NO_PROJECTS = (
    "This machine has no project for sessions from a chat. To list its sessions: handoff projects add DIR, then handoff "
    "projects bring on"
)
_GONE = "That session is gone from the machine, or its project was removed. Send /sessions for a new list."
_AT_WORK = "An agent in the terminal is at work on that session. Let it finish, or stop it, then try again."
_HELD = (
    "That session is open in a terminal, and its agent lets no other program write it. Close it there: the agent lets go "
    "of it within about a minute. Then try again."
)
_USED = "Another process on the machine uses that session. Close it there, then try again."
_GROWS = "That session is being written in a terminal. Try again when that has stopped."
_READS = 3
_TITLE = 120
_LOCK_TRIES = 10
_PATCH = "changes.diff"
_LARGEST_PATCH = 5_000_000
"""Bytes: a larger one is nothing to read in a chat, and looking for secrets in it takes long."""


class Errands:
    """One runner's. The user's consent is read again for each order: it may have been taken back."""

    def __init__(self, runner: Runner, agents: Collection[str]) -> None:
        self._runner, self._agents = runner, agents
        self._moving: dict[str, asyncio.Lock] = {}
        self._transcriptions = Transcriptions(runner)

    @property
    def labels(self) -> list[str]:
        """The projects of which the service may know: their labels."""
        return list(self._projects().directories)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of orders that this runner does."""
        return (*DIALS, SESSIONS, BRING, BEGIN, DIFF, *((TRANSCRIBE,) if self._runner.settings.voice else ()))

    async def do(self, taken: Json) -> Json | None:
        """Do a taken order; an answer, or None once its handoff is requested."""
        doing: dict[str, Callable[[Json], Awaitable[Json | None]]] = {
            SESSIONS: self._list,
            BRING: self._bring,
            BEGIN: self._begin,
            DIFF: self._diff,
            TRANSCRIBE: self._transcribe,
        }
        do = doing.get(str(taken["kind"]))
        try:
            return await do(taken) if do else refused("This machine does not do that.")
        except CliError as problem:
            return refused(str(problem))
        except OSError as error:
            return refused(f"A file on the machine cannot be used: {error.strerror}.")

    async def _list(self, taken: Json) -> Json:
        projects = self._projects()
        if not (projects.bring and projects.directories):
            return refused(_OFF if projects.directories else _NO_PROJECTS)
        listing, word = self._listing(projects), str(taken["argument"])
        found = await asyncio.to_thread(listing.find, word)
        body = await asyncio.to_thread(listing.body, found)
        return {"outcome": "done", "sessions": body, "text": _looked_at(found.left, word)}

    async def _bring(self, taken: Json) -> Json | None:
        projects, wanted = self._projects(), str(taken["argument"])
        if not projects.bring:
            return refused(_OFF)
        listing = self._listing(projects)
        found = await asyncio.to_thread(lambda: listing.again(wanted) or listing.handed_over(wanted))
        if found is None:
            return refused(_GONE)
        # A second press waits for the first, and then finds what that has led to.
        async with self._moving.setdefault(found[1].native_id, asyncio.Lock()):
            return await self._bring_found(taken, projects, *found)

    async def _bring_found(self, taken: Json, projects: Projects, label: str, native: Native) -> Json | None:
        entry = await self._entry(native)
        if not isinstance(entry, HandedOver):
            return entry
        lock = session_lock(self._runner.state, native.agent, native.native_id)
        for _ in range(_LOCK_TRIES):
            if lock.acquire():
                break
            await self._runner.clock.sleep(self._runner.clock.retry)
        else:
            return refused(_USED)
        with lock, self._runner.fence(self._runner.environ, entry) as stays:
            if await asyncio.to_thread(is_amid_turn, native):
                return refused(_AT_WORK)
            if await asyncio.to_thread(is_held, native, self._runner.environ):
                return refused(_HELD)
            self._runner.sessions.add(entry)
            return await self._move(taken, _Leaving(entry, label, native, projects), stays)

    async def _move(self, taken: Json, leaving: "_Leaving", stays: Callable[[int], None]) -> Json | None:
        """Upload the session and request its handoff, if nobody writes it meanwhile."""
        entry, native = leaving.entry, leaving.native
        answer = await self._call("session", taken, leaving.body)
        if answer.verdict is not Verdict.GO_ON:
            return _why(answer)
        if answer.body["state"] == "done":
            return None
        stored = int(answer.body["message_count"])
        for _ in range(_READS):
            size = native.path.stat().st_size
            transcript = await asyncio.to_thread(_read, entry, self._runner.environ)
            if leaving.projects.label_of(transcript.cwd or entry.directory) is None:
                return refused(_GONE)
            rest = await self._rest(entry, likely_secrets.redact(transcript.messages), stored)
            for piece in pieces(rest):
                answer = await self._call("messages", taken, {"after": stored, "messages": piece})
                if answer.verdict is not Verdict.GO_ON:
                    return _why(answer)
                stored = int(answer.body["message_count"])
            if native.path.stat().st_size == size:
                break
        else:
            return refused(_GROWS)
        answer = await self._call("handoff", taken, {})
        if answer.verdict not in {Verdict.GO_ON, Verdict.RETRY}:
            return _why(answer)
        # Without an answer it may have been requested: the hook asks the service before each prompt.
        stays(stored)
        return None

    async def _rest(self, entry: HandedOver, messages: list[Message], stored: int) -> list[Message]:
        """The messages that the service does not have."""
        if not stored:
            return messages
        answer = await self._runner.service.messages(entry.session_id, after=max(0, stored - ALIGNED_BY))
        known = answer.body["messages"] if answer.verdict is Verdict.GO_ON else []
        return after_stored(messages, known, stored)

    async def _begin(self, taken: Json) -> Json | None:
        agent, label = str(taken.get("agent") or ""), str(taken["argument"])
        directory = self._projects().directories.get(label)
        if directory is None or not directory.is_dir():
            return refused(f"The project {label} was removed on the machine.")
        if agent not in self._agents:
            return refused(f"The machine does not run {agent} now.")
        seed = f"{self._runner.identity.id}\n{taken['order_id']}"
        session_id = hashlib.sha256(seed.encode()).hexdigest()[:32]
        entry = HandedOver(session_id, agent, "", str(directory), self._runner.url)
        known = self._runner.sessions.find(session_id)
        self._runner.sessions.add(known or entry)
        async with self._moving.setdefault(label, asyncio.Lock()):  # the same
            answer = await self._call("session", taken, {"session_id": session_id, "agent": agent, "project": label})
            if answer.verdict is Verdict.GO_ON and answer.body["state"] != "done":
                answer = await self._call("handoff", taken, {})
        return None if answer.verdict is Verdict.GO_ON else _why(answer)

    async def _diff(self, taken: Json) -> Json:
        session = self._runner.sessions.find(str(taken.get("session_id") or ""))
        if session is None or session.url != self._runner.url:
            return refused("This machine did not hand that session over.")
        tree = WorkingTree(self._runner.state, session.session_id, Path(session.directory))
        answer = await asyncio.to_thread(tree.answer, str(taken["argument"]))
        if tree.listed and "sends" in self._runner.service.accepts:
            return await self._with_patch(session.session_id, tree, answer)
        return answer

    async def _transcribe(self, taken: Json) -> Json:
        session = self._runner.sessions.find(str(taken.get("session_id") or ""))
        if session is None or session.url != self._runner.url or not self._runner.settings.voice:
            return refused("that machine does not transcribe it")
        return await self._transcriptions.of(session.session_id, str(taken["argument"]))

    async def _with_patch(self, session_id: str, tree: WorkingTree, answer: Json) -> Json:
        """The list of changed files, with all their changes as a stored file of the session."""
        limit = min(self._runner.service.file_limit, _LARGEST_PATCH)
        try:
            patch, masked = await asyncio.to_thread(tree.whole, limit)
            file = TextFile(_PATCH, patch.encode("utf-8", "replace"), "text/x-diff")
            if file.size > limit:
                raise NotSendable(f"The whole is larger than {megabytes(limit)}, so it is not sent as a file.")
            stored = await store_file(self._runner, session_id, file)
        except CliError as problem:
            return {**answer, "text": f"{answer['text']} {problem}"[:1000]}
        said = ["All of it is in the file.", *(["Likely secrets in it are masked."] if masked else [])]
        return {**answer, "text": " ".join([answer["text"], *said]), "file": stored}

    async def _call(self, what: str, taken: Json, body: Json) -> Answer:
        service, order_id = self._runner.service, str(taken["order_id"])
        said = {"fence": taken["fence"], **body}
        return await repeated(self._runner, what, order_id, lambda: service.move_by_order(order_id, what, said))

    async def _entry(self, native: Native) -> HandedOver | Json:
        """The session as this machine's list has it, else a new entry; or the refusal, if it lives in a chat already.

        A session of an agent that was handed over before may have several entries. It must never be in two threads.
        """
        runner, kept = self._runner, None
        for known in runner.sessions.named(native.agent, native.native_id, runner.url):
            answer = await repeated(
                runner, "where", known.session_id, partial(runner.service.session, known.session_id)
            )
            if answer.status == HTTPStatus.NOT_FOUND:
                runner.sessions.remove(known.session_id)
            elif answer.verdict is not Verdict.GO_ON or answer.body["owner"] != "cli":
                return _why(answer)
            else:
                kept = known
        if kept is not None:
            return replace(kept, directory=native.directory)
        session_id = first_id(runner.identity.id, native.agent, native.native_id)
        return HandedOver(session_id, native.agent, native.native_id, native.directory, runner.url)

    def _projects(self) -> Projects:
        try:
            return read_projects(self._runner.environ)
        except CliError as problem:
            self._runner.report.once("projects", str(problem))
            return Projects()

    def _listing(self, projects: Projects) -> Listing:
        return Listing(projects, self._agents, self._runner.environ, self._runner.state, self._runner.url)


@dataclass(frozen=True)
class _Leaving:
    """A session that is about to leave for a chat."""

    entry: HandedOver
    label: str
    native: Native
    projects: Projects

    @property
    def body(self) -> Json:
        """As the service takes it: without a path, likely secrets masked."""
        title = one_line(likely_secrets.mask_words(self.native.title[: 4 * _TITLE])[0], _TITLE)
        named = {"session_id": self.entry.session_id, "agent": self.entry.agent, "native_id": self.entry.native_id}
        return {**named, "project": self.label, "title": title or None}


def _read(entry: HandedOver, environ: Any) -> Transcript:
    return read_session(entry.agent, Source(Path(entry.directory), environ, session=entry.native_id))


def _why(answer: Answer) -> Json:
    """A refusal of the service in words. The link of a session that lives elsewhere is in `link`."""
    if (link := answer.body.get("link")) or answer.body.get("owner", "cli") != "cli":
        return refused(f"That session lives in a thread already: {link or answer.body['owner']}")
    return refused(f"The service did not take it. {answer.why[:950]}.")


def _looked_at(left: int, word: str) -> str:
    if not left:
        return ""
    if word:
        return f"only the newest {WITH_WORD} files were looked at, {left} were not"
    return f"only the newest {WITHOUT_WORD} files were looked at, {left} were not. Send /sessions WORD to look further"
