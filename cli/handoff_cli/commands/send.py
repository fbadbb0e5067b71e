"""`handoff send`: take a session from a file, a tool or the service, hand it over, and prove that all arrived."""

from handoff_cli.api.client import Service
from handoff_cli.api.transport import Json
from handoff_cli.api.upload import new_session, upload
from handoff_cli.context import Context
from handoff_cli.handoff import receipt
from handoff_cli.handoff.destination import check_destination
from handoff_cli.handoff.follow import Patience
from handoff_cli.handoff.hand_over import before_request, request, see_through
from handoff_cli.handoff.outcome import report
from handoff_cli.handoff.prepare import checked_title, first_words, present, read
from handoff_cli.sessions.choose import choose_session
from handoff_cli.sessions.names import display
from handoff_cli.sessions.transcripts import Transcript


def run(context: Context) -> int:
    """Hands over; 0 only if the handoff completed with everything that was sent."""
    args, terminal = context.args, context.terminal
    with before_request():
        message = first_words(context)
        transcript = None if args.session else read(context)
    with context.service() as service:
        with before_request():
            check_destination(service, args.platform, target=args.to)
            session, digest = (
                _stored(context, service)
                if transcript is None
                else _upload(context, service, present(context, transcript))
            )
        handoff = request(context, service, _body(context, session, message))
        if args.no_wait:
            terminal.say(f"Requested. Look again with: {context.prog} status {handoff['id']}")
            terminal.result(handoff)
            return 0
        handoff = see_through(context, service, handoff, Patience.of(args.timeout))
    return report(context, handoff, digest=digest)


def _body(context: Context, session: Json, message: str | None) -> Json:
    args = context.args
    body = {"session_id": session["id"], "platform": args.platform, "epoch": session["epoch"]}
    optional = {
        "target": args.to,
        "message": message,
        "require_thread": args.require_thread or None,
        "replace": args.replace or None,
    }
    return {**body, **{key: value for key, value in optional.items() if value is not None}}


def _upload(context: Context, service: Service, transcript: Transcript) -> tuple[Json, str]:
    total = len(transcript.messages)
    title = checked_title(context.args.title or transcript.title)
    session = new_session(service, transcript, title=title, cwd=str(context.directory))
    session = upload(
        service,
        session,
        transcript.messages,
        progress=lambda stored: context.terminal.pulse(f"  … {stored} of {total} messages"),
    )
    return session, receipt.digest(transcript.messages)


def _stored(context: Context, service: Service) -> tuple[Json, str]:
    """A session that is on the service already; what it holds is read once, to compare the receipt with."""
    session = choose_session(context, service, context.args.session)
    if context.args.title:
        session = service.put_session(session["id"], {"title": checked_title(context.args.title)})
    messages = list(service.messages(session["id"]))
    context.terminal.say(f"Handing {display(session)} over to {context.args.platform}: {len(messages)} messages")
    return session, receipt.digest(messages)
