"""Write docs/commands.md, the reference of the command line, from its parser: `make commands`."""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from handoff_cli.arguments import EXIT_CODES, GROUPS, parser

FILE = Path(__file__).resolve().parent.parent / "commands.md"
PROGRAM = "handoff"
INTRODUCTION = """\
# Commands

Written by `make commands` from the parser of the command line; `handoff COMMAND --help` shows the same.
"""
_CONNECTION = {"--url", "--token", "--insecure"}


def rendered() -> str:
    """The page. Equal code gives equal text, whatever the version of Python and the width of the terminal."""
    return "\n".join(_page()).rstrip() + "\n"


def _page() -> Iterator[str]:
    top = parser(PROGRAM)
    yield INTRODUCTION
    yield "## Options of every command that calls the service\n"
    yield from _options([action for action in top._actions if _CONNECTION & set(action.option_strings)])  # noqa: SLF001  # argparse shows its actions no other way
    yield "## Exit codes\n"
    yield f"{_indented(EXIT_CODES.partition(chr(10))[2])}\n"
    for title, names in GROUPS.items():
        yield f"## {title.capitalize()}\n"
        for name in names:
            yield from _command(f"{PROGRAM} {name}", top.commands[name])


def _command(name: str, command: argparse.ArgumentParser) -> Iterator[str]:
    """A command, or each of its actions."""
    actions = [each for each in command._actions if not isinstance(each, argparse._HelpAction)]  # noqa: SLF001  # see above
    inner = [each for each in actions if isinstance(each, argparse._SubParsersAction)]  # noqa: SLF001  # see above
    shown = [each for each in actions if each not in inner and not _CONNECTION & set(each.option_strings)]
    shown.sort(key=lambda each: bool(each.option_strings))
    positional = [_name(each).replace("\\|", "|") for each in shown if not each.option_strings]
    yield f"### {' '.join([name, *positional, *(['ACTION'] if inner else [])])}\n"
    yield f"{_escaped(command.description or '')}\n"
    yield from _options([each for each in shown if each.help is not argparse.SUPPRESS])
    if command.epilog:
        yield f"{_indented(command.epilog)}\n"
    for key, value in (pair for each in inner for pair in each.choices.items()):
        yield from _command(f"{name} {key}", value)


def _options(actions: list[argparse.Action]) -> Iterator[str]:
    if not actions:
        return
    yield "| argument | |"
    yield "| --- | --- |"
    for action in actions:
        value = f" {_name(action)}" if action.option_strings and action.nargs != 0 else ""
        names = ", ".join(action.option_strings) + value if action.option_strings else _name(action)
        yield f"| `{names}` | {_cell((action.help or '') % _facts(action))} |"
    yield ""


def _name(action: argparse.Action) -> str:
    choices = "\\|".join(map(str, action.choices)) if action.choices else None
    found = action.metavar or choices or (action.dest.upper() if action.option_strings else action.dest)
    name = found if isinstance(found, str) else " ".join(found)
    return f"[{name}]" if not action.option_strings and action.nargs in {"?", "*"} else name.replace("|", "\\|")


def _facts(action: argparse.Action) -> dict[str, object]:
    return {**vars(action), "prog": PROGRAM, "choices": ", ".join(map(str, action.choices or ()))}


def _cell(text: str) -> str:
    return _escaped(" ".join(text.split()).replace("|", "\\|"))


def _escaped(text: str) -> str:
    """What a page would take for its own markup, outside of code."""
    return re.sub(r"(`[^`]*`)|([<*_])", lambda found: found[1] or f"\\{found[2]}", text)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())


if __name__ == "__main__":
    FILE.write_text(rendered())
    sys.stdout.write(f"{FILE.name}: {len(rendered().splitlines())} lines.\n")
