"""A file for the chat, by way of the runner of this machine."""

from pathlib import Path

from handoff_cli.errors import CliError
from handoff_cli.runner.machine.ask_runner import ask_runner

_SECONDS = 15 * 60.0
"""Longer than a person has to answer, where sending asks."""


class NotSent(CliError, code="not_sent"):
    """Why a file was not sent."""


def send_file(state: Path, path: str, caption: str, *, session: str = "") -> str:
    """Ask the runner to send it; returns what became of it. Raises NotSent."""
    request = {"verb": "send", "path": path, "caption": caption, "session": session}
    answer = ask_runner(state, request, seconds=_SECONDS)
    if answer is None:
        raise NotSent("No runner of this machine answers (start it with `handoff run`), so it is not known to be sent.")
    if not isinstance(answer.get("text"), str):
        raise NotSent(str(answer.get("refused") or "The runner of this machine is too old to send files."))
    return str(answer["text"])
