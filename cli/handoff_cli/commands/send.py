"""`handoff send`: hand over a session from a file, a tool or the service, and compare the receipt."""

import uuid
from contextlib import suppress

from handoff_cli.api.client import Service
from handoff_cli.api.transport import Json
from handoff_cli.context import Context
from handoff_cli.errors import UsageProblem
from handoff_cli.handoff.destination import check_destination
from handoff_cli.handoff.follow import Patience
from handoff_cli.handoff.hand_over import before_request, request, wait_for_end
from handoff_cli.handoff.outcome import report
from handoff_cli.handoff.prepare import checked_title, first_message, present, read
from handoff_cli.inside import HOOKED
from handoff_cli.inside.move import store
from handoff_cli.inside.state import State, StateFile
from handoff_cli.runner.answerer import choose_answerer
from handoff_cli.sessions.find import choose_session, display
from handoff_cli.transcripts.messages import Transcript, digest


def send(context: Context) -> int:
    """0 only if the handoff completed with everything that was sent."""
    args, terminal = context.args, context.terminal
    with before_request():
        if args.session and (args.source or args.transcript):
            raise UsageProblem(
                "--session names a session that the service has already. Leave out --from and --transcript, or name "
                "a tool's session with --from TOOL:ID."
            )
        message = first_message(context)
        transcript = None if args.session else read(context)
    with context.service() as service:
        with before_request():
            check_destination(service, args.platform, target=args.to)
            session, expected = (
                _stored(context, service)
                if transcript is None
                else _upload(context, service, present(context, transcript))
            )
        handoff = request(context, service, _body(context, session, message))
        if transcript is not None:
            _note_away(context, transcript, session, args.platform)
        if args.no_wait:
            terminal.say(f"Requested. Check with: {context.prog} status {handoff['id']}")
            terminal.result(handoff)
            return 0
        handoff = wait_for_end(context, service, handoff, Patience.of(args.timeout))
    return report(context, handoff, digest=expected)


def _body(context: Context, session: Json, message: str | None) -> Json:
    args = context.args
    body = {"session_id": session["id"], "platform": args.platform, "epoch": session["epoch"]}
    optional = {
        "target": args.to,
        "message": message,
        "require_thread": args.require_thread or None,
        "replace": args.replace or None,
        "share": args.share or None,
    }
    return {**body, **{key: value for key, value in optional.items() if value is not None}}


def _upload(context: Context, service: Service, transcript: Transcript) -> tuple[Json, str]:
    total = len(transcript.messages)
    answerer = choose_answerer(context, service, transcript, uuid.uuid4().hex)
    title = context.args.title or (None if answerer.is_known else transcript.title)
    session = store(
        context,
        service,
        transcript,
        answerer,
        title=checked_title(title),
        cwd=str(context.directory),
        progress=lambda stored: context.terminal.progress(f"  … {stored} of {total} messages"),
    )
    if answerer.sentence:
        context.terminal.say(f"  {context.terminal.to_copy(answerer.sentence)}")
    return session, digest(list(service.messages(session["id"])) if answerer.is_known else transcript.messages)


def _stored(context: Context, service: Service) -> tuple[Json, str]:
    """A session of the service; its messages are read once to compare the receipt."""
    session = choose_session(context, service, context.args.session)
    if context.args.title:
        session = service.put_session(session["id"], {"title": checked_title(context.args.title)})
    messages = list(service.messages(session["id"]))
    context.terminal.say(f"Handing {display(session)} over to {context.args.platform}: {len(messages)} messages")
    return session, digest(messages)


def _note_away(context: Context, transcript: Transcript, session: Json, platform: str) -> None:
    """Let the hooks inside the agent keep prompts from the model. Best effort: the handoff does not depend on it."""
    if transcript.native_id is None or transcript.source not in HOOKED:
        return
    url, sent = context.configuration().url, int(session["message_count"])
    state = State("away", str(session["id"]), url=url, platform=platform, sent=sent)
    with suppress(OSError):
        StateFile.of(context.environ, transcript.source, transcript.native_id).write(state)
