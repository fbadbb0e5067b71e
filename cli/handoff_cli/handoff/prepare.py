"""Before anything is sent: read the transcript, show its size, warn about likely secrets or mask them."""

from dataclasses import replace
from pathlib import Path

from handoff_cli.context import Context
from handoff_cli.errors import Interrupted, UsageProblem
from handoff_cli.handoff.outcome import counts
from handoff_cli.transcripts import likely_secrets
from handoff_cli.transcripts.file import read_transcript
from handoff_cli.transcripts.messages import Transcript, canonical, count_by_role
from handoff_cli.ui.text import one_line

_TITLE_LIMIT = 200
_MESSAGE_LIMIT = 4000


def read(context: Context) -> Transcript:
    """The transcript that `--transcript` or `--from` names. Raises UsageProblem; sends nothing."""
    args = context.args
    checked_title(args.title)
    if args.source:
        from handoff_cli.readers.read import read_session  # noqa: PLC0415 - rarely used
        from handoff_cli.readers.source import Source  # noqa: PLC0415 - see above

        path = Path(args.transcript) if args.transcript else None
        tool, _, session = args.source.partition(":")
        transcript = read_session(tool, Source(context.directory, context.environ, path, session.strip() or None))
        # The title may be longer than the service accepts.
        return replace(transcript, title=one_line(transcript.title, _TITLE_LIMIT) if transcript.title else None)
    if args.transcript is None:
        raise UsageProblem("Nothing to hand over. Use --transcript FILE, --from TOOL or --session TITLE.")
    return read_transcript(args.transcript, context.terminal.stdin.buffer)


def present(context: Context, transcript: Transcript) -> Transcript:
    """Show the transcript's size and return it as it will be sent. Raises Interrupted if the user declines."""
    args, terminal = context.args, context.terminal
    title = checked_title(args.title or transcript.title)
    secrets = likely_secrets.find(transcript.messages)
    if args.redact and secrets:
        transcript = replace(transcript, messages=likely_secrets.redact(transcript.messages))
    terminal.say(_heading(transcript, title, args.platform))
    for note in transcript.notes:
        terminal.say(terminal.style(f"  Note: {note}.", "yellow"))
    if secrets:
        _warn(context, secrets)
    return transcript


def first_message(context: Context) -> str | None:
    """The first message to the agent in the chat, from `--message FILE`."""
    name = context.args.message
    if name is None:
        return None
    if name == "-" and context.args.transcript == "-":
        raise UsageProblem("Only one of --transcript and --message can come from stdin.")
    try:
        raw = context.terminal.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        text = raw.decode("utf-8-sig").strip()
    except OSError as error:
        raise UsageProblem(f"{name} cannot be read: {error.strerror}. Check the path.") from error
    except UnicodeDecodeError as error:
        raise UsageProblem(f"{name} is not UTF-8 text. Save it as UTF-8.") from error
    if not text or len(text) > _MESSAGE_LIMIT:
        raise UsageProblem(
            f"{name} {'is empty' if not text else f'has more than {_MESSAGE_LIMIT} characters'}; --message needs a short text."
        )
    return text


def checked_title(title: str | None) -> str | None:
    """A valid title, or None for an empty one. Raises UsageProblem."""
    if title is None or not title.strip():
        return None
    try:
        title.encode()
    except UnicodeEncodeError:
        raise UsageProblem("The title is not valid text. Set another one with --title.") from None
    if len(title) > _TITLE_LIMIT:
        raise UsageProblem(f"The title has {len(title)} characters; the limit is {_TITLE_LIMIT}.")
    return title


def _heading(transcript: Transcript, title: str | None, platform: str) -> str:
    messages = transcript.messages
    size = _size(sum(len(canonical(message)) for message in messages))
    what = f"“{one_line(title, 60)}”" if title else "the session"
    return f"Handing {what} over to {platform}: {counts(count_by_role(messages))}, {size}"


def _size(count: int) -> str:
    if count < 1024:
        return f"{count} bytes"
    if count < 1024 * 1024:
        return f"{count / 1024:.0f} KiB"
    return f"{count / 1024 / 1024:.1f} MiB"


def _warn(context: Context, secrets: dict[str, int]) -> None:
    terminal = context.terminal
    found = likely_secrets.listed(secrets)
    if context.args.redact:
        terminal.say(f"  Masked: {found}.")
        return
    if terminal.interactive and not terminal.json_output and not context.args.yes:
        terminal.say(terminal.style(f"  Likely secrets: {found}.", "yellow"))
        if terminal.ask("  Send them as they are? [y/N] ").strip().lower() not in {"y", "yes"}:
            raise Interrupted("Nothing was sent. Use --redact to mask them.")
        return
    terminal.warn(f"Sending likely secrets: {found}. Use --redact to mask them.")
