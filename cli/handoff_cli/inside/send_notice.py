"""Post one notice: the process that a hook has started, which no one waits for."""

import uuid
from contextlib import suppress
from itertools import islice
from pathlib import Path

from handoff_cli.api.client import Service
from handoff_cli.context import Context
from handoff_cli.errors import CliError
from handoff_cli.inside.setup.integrations import INTEGRATIONS
from handoff_cli.inside.whereabouts import service_of
from handoff_cli.ui.text import one_line

_LOOKED_THROUGH = 100
_LONGEST_NAME = 60


def send_notice(context: Context, agent: str, platform: str, event: dict[str, str]) -> None:
    """Say it in the home chat. A notice that cannot be posted is dropped: there is no one to tell."""
    with suppress(CliError), service_of(context) as service:
        text = notice(INTEGRATIONS[agent].title, event, _link(service, event.get("session", "")))
        service.post_notice(text, platform or None, key=uuid.uuid4().hex)


def notice(agent: str, event: dict[str, str], link: str) -> str:
    """The project's name, what happened, and the thread of the session if it ever was in a chat."""
    # As code, because a name may have characters that mean something in Markdown.
    project = one_line(Path(event["directory"]).name.replace("`", "'"), _LONGEST_NAME) or "/"
    lines = [f"`{project}`: {agent} {'needs you' if event['what'] == 'needs you' else 'is done'}."]
    if why := one_line(event["why"].replace("`", "'"), 300):
        lines.append(f"`{why}`")
    return "\n\n".join([*lines, *([link] if link else [])])


def _link(service: Service, native_id: str) -> str:
    """The link to the newest thread of this session; empty if there is none. Best effort."""
    with suppress(CliError):
        for session in islice(service.sessions(), _LOOKED_THROUGH):
            if native_id and (session.get("runs_on") or {}).get("native_id") == native_id:
                return str(session.get("link") or "")
    return ""
