"""Hand over the session of an agent, in a process that outlives the hook which started it."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from handoff_cli.api.client import Service
from handoff_cli.api.held_poll import HeldPoll
from handoff_cli.api.transport import Json
from handoff_cli.context import Context
from handoff_cli.errors import CliError, HandoffFailed
from handoff_cli.handoff.destination import check_destination
from handoff_cli.handoff.outcome import failure
from handoff_cli.handoff.prepare import checked_title
from handoff_cli.handoff.upload import upload
from handoff_cli.handoff.upload_pictures import upload_pictures
from handoff_cli.inside.state import State, StateFile
from handoff_cli.readers.read import read_session
from handoff_cli.readers.source import Source
from handoff_cli.runner.answerer import Answerer, choose_answerer
from handoff_cli.runner.natives.aligned import ALIGNED_BY, after_stored
from handoff_cli.transcripts import likely_secrets
from handoff_cli.transcripts.messages import Transcript
from handoff_cli.ui.text import one_line

_TITLE_LIMIT = 200
_MESSAGE_LIMIT = 4000
_SECONDS = 120.0
# Agents whose hook does not name the file of the session: it is found by its id.
_BY_ID = ("opencode", "hermes")


@dataclass(frozen=True)
class Job:
    """A session to move, and its destination."""

    agent: str
    native_id: str
    transcript: str
    directory: str
    session_id: str
    platform: str
    message: str


@dataclass(frozen=True)
class Destination:
    """Where a session goes, with which first message; `id` is that of the move, and of the session if it is a new one."""

    platform: str
    message: str
    id: str
    directory: str


def move(context: Context, job: Job) -> None:
    """Move the session and note the result for the hook. A repeated run requests no second handoff."""
    file = StateFile.of(context.environ, job.agent, job.native_id)
    state = State("moving", job.session_id, platform=job.platform, began=time.time())
    state = replace(file.read() or state, pid=os.getpid())
    try:
        file.write(state)
        url = context.configuration().url
        state = replace(state, url=url)
        transcript = _read(context, job)
        with context.service() as service:
            check_destination(service, job.platform, target=None)
            where = Destination(job.platform, job.message, job.session_id, job.directory)
            session, answerer = upload_to(context, service, transcript, where)
            sent = int(session["message_count"])
            state = replace(state, session_id=session["id"], sent=sent, note=secrets_note(transcript))
            file.write(state)
            moved = hand_over(context, service, session, where)
        answers, own = context.terminal.to_copy(answerer.sentence), answerer.runs_on is not None
        link = str((moved.get("thread") or {}).get("url") or "")
        note = "\n".join(filter(None, [answers, state.note]))
        file.write(replace(state, phase="away", link=link, note=note, own=own))
    except CliError as error:
        file.write(replace(state, phase="failed", note=str(error)))


def _read(context: Context, job: Job) -> Transcript:
    path = Path(job.transcript) if job.transcript and job.agent not in _BY_ID else None
    source = Source(Path(job.directory), context.environ, path, None if path else job.native_id)
    # The agent itself names its session, so that it is certain.
    return replace(read_session(job.agent, source), native_id=job.native_id)


def upload_to(context: Context, service: Service, transcript: Transcript, where: Destination) -> tuple[Json, Answerer]:
    """The session on the service, and who will answer in the chat. Raises CliError."""
    answerer = choose_answerer(context, service, transcript, where.id)
    title = one_line(transcript.title, _TITLE_LIMIT) if transcript.title and not answerer.is_known else None
    return store(context, service, transcript, answerer, title=checked_title(title), cwd=where.directory), answerer


def hand_over(context: Context, service: Service, session: Json, where: Destination) -> Json:
    """Request, and wait until the session is in the chat; returns the handoff.

    Raises CliError. Repeated with the same id, it requests nothing twice.
    """
    body = {"session_id": session["id"], "platform": where.platform, "epoch": session["epoch"]}
    if where.message:
        body["message"] = where.message[:_MESSAGE_LIMIT]
    return _wait(context, service, service.request_handoff(body, key=where.id))


def store(
    context: Context,
    service: Service,
    transcript: Transcript,
    answerer: Answerer,
    *,
    title: str | None,
    cwd: str,
    progress: Callable[[int], None] = lambda _: None,
) -> Json:
    """The session with its transcript on the service. `progress` gets the number of stored messages."""
    session_id, messages = answerer.session_id, transcript.messages
    about = {
        "title": title,
        "source": transcript.source or "cli",
        "cwd": (transcript.cwd or cwd)[:4096],
        "model": transcript.model[:200] if transcript.model else None,
        "runs_on": answerer.runs_on,
    }
    session = service.put_session(session_id, {key: value for key, value in about.items() if value is not None})
    if missing := upload_pictures(service, session_id, transcript.pictures.values()):
        context.terminal.warn(
            f"{missing} pictures of the session could not be uploaded: only their places are in the text."
        )
    if stored := int(session["message_count"]):
        messages = after_stored(messages, list(service.messages(session_id, after=max(0, stored - ALIGNED_BY))), stored)
    return upload(service, session, messages, progress=progress)


def _wait(context: Context, service: Service, handoff: Json) -> Json:
    """The handoff when the session is in the chat; its first answer there may still be on the way."""
    until = context.clock() + _SECONDS
    poll = HeldPoll(
        lambda wait, seen: service.handoff(handoff["id"], wait=wait, seen=seen),
        clock=context.clock,
        sleep=context.sleep,
        longest_wait=service.longest_wait,
    )
    while (left := until - context.clock()) > 0:
        if handoff.get("error"):
            raise HandoffFailed(failure(handoff))
        owner = (handoff.get("session") or {}).get("owner")
        if handoff["done"] or (handoff.get("thread") and owner not in {None, "cli"}):
            return handoff
        handoff = poll.next(handoff, wait=left)
    return handoff


def secrets_note(transcript: Transcript) -> str:
    """A sentence about likely secrets in what was sent; empty if there are none."""
    found = likely_secrets.listed(likely_secrets.find(transcript.messages))
    return f"The conversation has likely secrets: {found}." if found else ""
