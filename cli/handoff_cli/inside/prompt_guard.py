"""Keep prompts from the model while the session is elsewhere: two programs that write one session lose what was said."""

from dataclasses import replace

from handoff_cli.context import Context
from handoff_cli.inside import ALWAYS_CURRENT, texts
from handoff_cli.inside.events import Answer, Block, Event, Tell
from handoff_cli.inside.state import State, StateFile
from handoff_cli.inside.whereabouts import Elsewhere, Here, Unknown, locate


def on_prompt(context: Context, event: Event, file: StateFile, state: State) -> Answer:
    """A prompt of a session that was handed over."""
    if state.phase == "failed":
        file.remove()
        return Block(f"{texts.not_moved(state)} Send your words again.")
    if state.is_moving:
        return Block(f"Nothing was sent. {texts.on_its_way(event, state)}")
    found = locate(context, state)
    if isinstance(found, Here):
        return Tell(note=file)
    if isinstance(found, Elsewhere):
        return Block(f"Nothing was sent. {texts.elsewhere(event, found.session)}")
    if isinstance(found, Unknown):
        return Block(f"Nothing was sent. {texts.cannot_check(state, file, found.reason)}")
    if found.state.reload and event.agent not in ALWAYS_CURRENT:
        file.write(found.state)
        return Block(f"Nothing was sent: this window does not know what was said in the chat.\n{texts.reload(event)}")
    return Tell(context=found.state.context, note=file)


def on_compact(context: Context, event: Event, file: StateFile, state: State) -> Answer:
    """The agent is about to ask the model for a summary. What the model must know waits for a prompt."""
    found = Tell() if state.phase == "failed" else on_prompt(context, event, file, state)
    return found if isinstance(found, Block) else Tell()


def on_start(context: Context, event: Event, file: StateFile, state: State) -> Answer:
    """The agent begins or loads a session. Once loaded, it knows what it said itself; the rest is added here."""
    if not event.loaded or state.phase == "failed" or state.is_moving:
        return Tell()
    found = locate(context, state)
    if isinstance(found, Elsewhere):
        # Only of Codex: while it has a session open, no other process can write it.
        if event.agent == "codex" and not found.session.get("turn_running"):
            file.write(replace(state, loaded=str(found.session.get("version") or "")))
        return Tell(shown=texts.elsewhere(event, found.session))
    if isinstance(found, Unknown):
        return Tell(shown=texts.cannot_check(state, file, found.reason))
    if isinstance(found, Here):
        return Tell(note=file)
    return Tell(shown="The session is here again.", context=found.state.context, note=file)


def status(context: Context, event: Event, file: StateFile, state: State | None) -> str:
    """Where the session is. Also clears up what a move or a return left behind."""
    if state is None:
        return texts.HERE
    if state.phase == "failed":
        file.remove()
        return texts.not_moved(state)
    if state.is_moving:
        return f"The session is on its way to {state.platform}."
    found = locate(context, state)
    if isinstance(found, Elsewhere):
        return texts.elsewhere(event, found.session)
    if isinstance(found, Unknown):
        return texts.cannot_check(state, file, found.reason)
    if isinstance(found, Here):
        file.remove()
        return texts.HERE
    file.write(found.state)
    return texts.returned(event, found.state)
