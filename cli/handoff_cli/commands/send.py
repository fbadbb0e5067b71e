"""`handoff send`: create a session from a transcript, hand it over, wait, and prove that all arrived."""

import uuid

from handoff_cli import receipt
from handoff_cli.context import Context
from handoff_cli.errors import UsageProblem
from handoff_cli.following import Patience
from handoff_cli.outcome import report
from handoff_cli.service import Json, Service
from handoff_cli.terminal import one_line
from handoff_cli.transcripts import Transcript, encode, read_transcript
from handoff_cli.upload import new_session, upload

TITLE_LIMIT = 200


def run(context: Context) -> int:
    """Hands over; 0 only if the handoff completed with everything that was sent."""
    args, terminal = context.args, context.terminal
    transcript = read_transcript(args.transcript, terminal.stdin.buffer)
    title = _checked_title(args.title or transcript.title)
    with context.service() as service:
        terminal.say(_heading(transcript, title, args.platform))
        session = _upload(context, service, transcript, title)
        handoff = service.request_handoff(
            {"session_id": session["id"], "platform": args.platform, "epoch": session["epoch"]}, key=uuid.uuid4().hex
        )
        handoff = context.follower(service).follow(handoff, Patience.of(args.timeout))
    return report(context, handoff, digest=receipt.digest(transcript.messages))


def _upload(context: Context, service: Service, transcript: Transcript, title: str | None) -> Json:
    total = len(transcript.messages)
    session = new_session(service, transcript, title=title, cwd=str(context.directory))
    return upload(
        service,
        session,
        transcript.messages,
        progress=lambda stored: context.terminal.pulse(f"  … {stored} of {total} messages"),
    )


def _heading(transcript: Transcript, title: str | None, platform: str) -> str:
    messages = transcript.messages
    size = receipt.size(sum(len(encode(message)) for message in messages))
    what = f"“{one_line(title, 60)}”" if title else "the session"
    return f"Handing {what} over to {platform}: {receipt.counted(receipt.by_role(messages))}, {size}"


def _checked_title(title: str | None) -> str | None:
    if title is None or not title.strip():
        return None
    try:
        title.encode()
    except UnicodeEncodeError:
        raise UsageProblem("The title is not valid text. Give another one with --title.") from None
    if len(title) > TITLE_LIMIT:
        raise UsageProblem(f"The title has {len(title)} characters; at most {TITLE_LIMIT} are possible.")
    return title
