"""Sessions that leave by a command: the hooks inside the agent keep their prompts from the model, too."""

from contextlib import suppress

from handoff_cli.api.transport import Json
from handoff_cli.context import Context
from handoff_cli.inside import HOOKED
from handoff_cli.inside.state import State, StateFile
from handoff_cli.transcripts.messages import Transcript


def note_away(context: Context, transcript: Transcript, session: Json, platform: str) -> None:
    """Remember that the agent's session was handed over. Best effort: the handoff does not depend on it."""
    if transcript.native_id is None or transcript.source not in HOOKED:
        return
    url, sent = context.configuration().url, len(transcript.messages)
    state = State("away", str(session["id"]), url=url, platform=platform, sent=sent)
    with suppress(OSError):
        StateFile.of(context.environ, transcript.source, transcript.native_id).write(state)
