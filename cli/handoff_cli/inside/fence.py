"""Keep prompts in the terminal from the model while a session is brought to a chat."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from handoff_cli.inside import HOOKED
from handoff_cli.inside.state import State, StateFile
from handoff_cli.runner.machine.sessions import HandedOver


@contextmanager
def fenced(environ: Mapping[str, str], session: HandedOver) -> Iterator[Callable[[int], None]]:
    """The hook in the agent blocks prompts meanwhile, and afterwards if what this yields was called: it left.

    A process that dies in here leaves a note with its number; the hook asks the service then.
    """
    if session.agent not in HOOKED:
        yield lambda _: None
        return
    file = StateFile.of(environ, session.agent, session.native_id)
    before = file.read()
    file.write(State("moving", session.session_id, url=session.url, began=time.time(), pid=os.getpid()))
    left: list[State] = []
    try:
        yield lambda sent: left.append(State("away", session.session_id, url=session.url, sent=sent, own=True))
    finally:
        kept = left[0] if left else before if before is not None and before.phase != "moving" else None
        if kept is None:
            file.remove()
        else:
            file.write(kept)
