"""Claude Code: `~/.claude/projects/<directory, with dashes>/<session>.jsonl`, one record per line."""

from typing import Any

from handoff_cli.errors import UsageProblem
from handoff_cli.readers.claude_code.branch import live_branch
from handoff_cli.readers.claude_code.find import find_file
from handoff_cli.readers.claude_code.messages import messages_of
from handoff_cli.readers.json_lines import records
from handoff_cli.readers.source import Source
from handoff_cli.transcripts.messages import Transcript
from handoff_cli.transcripts.pictures import Picture
from handoff_cli.transcripts.pictures import newest as newest_pictures

_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}


def read(source: Source) -> Transcript:
    """The named session, else the one that is open in the directory, else the newest one there."""
    path = find_file(source)
    lines = list(records(path))
    branch = live_branch(lines)
    pictures: list[Picture] = []
    messages = messages_of(branch, pictures)
    if not messages:
        raise UsageProblem(f"{path} is not a conversation of Claude Code.")
    return Transcript(
        messages,
        title=_title(lines),
        model=_model(branch),
        cwd=next((str(line["cwd"]) for line in reversed(branch) if line.get("cwd")), None),
        native_id=None if source.path else path.stem,
        pictures=newest_pictures(pictures),
    )


def _model(branch: list[dict[str, Any]]) -> str | None:
    answers = (line["message"] for line in reversed(branch) if line.get("type") == "assistant")
    models = (message.get("model") for message in answers if isinstance(message, dict))
    # Records that the program wrote itself have a model such as "<synthetic>".
    return next((model for model in models if isinstance(model, str) and model[:1] != "<"), None)


def _title(lines: list[dict[str, Any]]) -> str | None:
    for kind, key in _TITLES.items():
        for line in reversed(lines):
            if line.get("type") == kind and isinstance(line.get(key), str):
                return str(line[key])
    return None
