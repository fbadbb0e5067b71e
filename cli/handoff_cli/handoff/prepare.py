"""What happens before anything is sent: read, count, warn of likely secrets, mask, ask."""

from dataclasses import replace
from pathlib import Path

from handoff_cli.context import Context
from handoff_cli.errors import Interrupted, UsageProblem
from handoff_cli.handoff import likely_secrets, receipt
from handoff_cli.sessions.transcripts import Transcript, canonical, read_transcript
from handoff_cli.ui.texts import one_line

TITLE_LIMIT = 200
_WORDS_LIMIT = 4000


def read(context: Context) -> Transcript:
    """What `--transcript` or `--from` names. Raises UsageProblem; sends nothing."""
    args = context.args
    checked_title(args.title)
    if args.source:
        from handoff_cli import readers  # noqa: PLC0415 - only where another tool's files are read

        path = Path(args.transcript) if args.transcript else None
        transcript = readers.read(args.source, readers.Source(context.directory, context.environ, path))
        # A tool's own title may be longer than the service takes.
        return replace(transcript, title=one_line(transcript.title, TITLE_LIMIT) if transcript.title else None)
    if args.transcript is None:
        raise UsageProblem(
            "What should be handed over? Name it with --transcript FILE, --from TOOL or --session TITLE."
        )
    return read_transcript(args.transcript, context.terminal.stdin.buffer)


def present(context: Context, transcript: Transcript) -> Transcript:
    """The transcript as it will be sent, shown in numbers first. Raises Interrupted if the person says no."""
    args, terminal = context.args, context.terminal
    title = checked_title(args.title or transcript.title)
    secrets = likely_secrets.find(transcript.messages)
    if args.redact and secrets:
        transcript = replace(transcript, messages=likely_secrets.redact(transcript.messages))
    terminal.say(_heading(transcript, title, args.platform))
    for note in transcript.notes:
        terminal.say(terminal.style(f"  Note: {note}.", "yellow"))
    if secrets:
        _mention(context, secrets)
    return transcript


def first_words(context: Context) -> str | None:
    """The person's own words for the kickoff, from `--message FILE`."""
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
    if not text or len(text) > _WORDS_LIMIT:
        raise UsageProblem(
            f"{name} {'is empty' if not text else 'has over 4000 characters'}; --message takes a few words."
        )
    return text


def checked_title(title: str | None) -> str | None:
    """A title that the service will accept, or None. Raises UsageProblem."""
    if title is None or not title.strip():
        return None
    try:
        title.encode()
    except UnicodeEncodeError:
        raise UsageProblem("The title is not valid text. Give another one with --title.") from None
    if len(title) > TITLE_LIMIT:
        raise UsageProblem(f"The title has {len(title)} characters; at most {TITLE_LIMIT} are possible.")
    return title


def _heading(transcript: Transcript, title: str | None, platform: str) -> str:
    messages = transcript.messages
    size = receipt.size(sum(len(canonical(message)) for message in messages))
    what = f"“{one_line(title, 60)}”" if title else "the session"
    return f"Handing {what} over to {platform}: {receipt.counted(receipt.by_role(messages))}, {size}"


def _mention(context: Context, secrets: dict[str, int]) -> None:
    terminal = context.terminal
    found = ", ".join(f"{count} × {kind}" for kind, count in secrets.items())
    if context.args.redact:
        terminal.say(f"  Masked: {found}.")
        return
    if terminal.interactive and not terminal.json_output and not context.args.yes:
        terminal.say(terminal.style(f"  Likely secrets: {found}.", "yellow"))
        if terminal.ask("  Send them as they are? [y/N] ").strip().lower() not in {"y", "yes"}:
            raise Interrupted("Nothing was sent. Mask them with --redact.")
        return
    terminal.warn(f"Likely secrets are being sent: {found}. Mask them with --redact.")
