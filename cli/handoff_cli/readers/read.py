"""Read one session of another tool and make it fit for the service."""

from dataclasses import replace
from importlib import import_module

from handoff_cli.readers.fitting import fit
from handoff_cli.readers.source import Source
from handoff_cli.transcripts.messages import MESSAGE_LIMIT, Transcript, check


def read_session(name: str, source: Source) -> Transcript:
    """The session that the source names, else the tool's current one in the directory. Raises UsageProblem."""
    module = import_module(f"handoff_cli.readers.{name.replace('-', '_')}")
    transcript: Transcript = module.read(source)
    messages, cut = fit(transcript.messages)
    check(messages, name)
    notes = [f"{cut} messages were longer than {MESSAGE_LIMIT // 1024} KiB and were cut"] if cut else []
    return replace(transcript, messages=messages, source=name, notes=(*transcript.notes, *notes))
