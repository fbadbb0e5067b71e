"""The input line: history, several lines, completion."""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.data_structures import Size
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output

from handoff_cli.chat.slash import SLASH
from handoff_cli.directories import state_home
from handoff_cli.ui.terminal import Terminal

Names = Callable[[], Iterable[str]]


def new_prompt(terminal: Terminal, environ: Mapping[str, str], *, names: Mapping[str, Names]) -> "PromptSession[str]":
    """A prompt that completes slash commands, platforms and titles."""
    return PromptSession(
        history=_history(environ),
        completer=SlashCompleter(names),
        complete_while_typing=False,
        complete_in_thread=True,
        multiline=True,
        key_bindings=_keys(),
        prompt_continuation="… ",
        color_depth=None if terminal.colour else ColorDepth.DEPTH_1_BIT,
        # No cursor position requests: some terminals never answer, and the prompt does not need them.
        output=Vt100_Output(terminal.stdout, _size, term=environ.get("TERM"), enable_cpr=False),
    )


def _size() -> Size:
    columns, rows = shutil.get_terminal_size()
    return Size(rows=rows, columns=columns)


class SlashCompleter(Completer):
    """Completes `/commands` and their arguments."""

    def __init__(self, names: Mapping[str, Names]) -> None:
        self._names = names

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:  # noqa: ARG002 - the interface
        text = document.text_before_cursor
        if not text.startswith("/") or "\n" in text:
            return
        command, space, argument = text[1:].partition(" ")
        if not space:
            found = (name for name in SLASH if name.startswith(command))
            yield from (Completion(name, -len(command), display_meta=SLASH[name].text) for name in found)
        elif command in SLASH and SLASH[command].takes:
            wanted = argument.casefold()
            matching = (name for name in self._names[SLASH[command].takes]() if name.casefold().startswith(wanted))
            yield from (Completion(name, -len(argument)) for name in matching)


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _send(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys


def _history(environ: Mapping[str, str]) -> History:
    """The history file, readable by its owner only; in memory if it cannot be written."""
    path = Path(state_home(environ)) / "handoff" / "history"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(path))
