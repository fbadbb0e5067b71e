"""`handoff projects`: the directories in which chats may begin sessions of the user's own agents, or bring them from."""

from dataclasses import replace
from pathlib import Path

from handoff_cli.context import Context
from handoff_cli.errors import UsageProblem
from handoff_cli.runner.machine.projects import (
    LABEL,
    RESERVED,
    Projects,
    label_for,
    read_projects,
    write_projects,
)
from handoff_cli.ui.text import aligned

BRING = (
    "With `bring` on, `/sessions` in your chats lists the sessions of your agents in these directories. That sends their "
    "titles, often the first words of a session, with likely secrets masked; `/bring` uploads the whole conversation of "
    "the one that you choose."
)


def projects(context: Context) -> int:
    """List them."""
    found = read_projects(context.environ)
    _show(context, found)
    return 0


def add(context: Context) -> int:
    """Open a directory. Raises UsageProblem."""
    directory = (context.directory / Path(context.args.dir).expanduser()).resolve()
    if not directory.is_dir() or not str(directory).isprintable():
        raise UsageProblem(f"{directory} is not a directory, or its name cannot be written down.")
    if directory in (Path("/"), Path.home().resolve()):
        raise UsageProblem(f"{directory} holds much more than a project. Name a directory in it.")
    found = read_projects(context.environ)
    label = context.args.name or label_for(directory)
    if not LABEL.fullmatch(label) or label.lower() in RESERVED:
        raise UsageProblem(f"“{label}” cannot be a label. Name another with --name: letters, digits, “.”, “_” and “-”.")
    if any(label.lower() == known.lower() and found.directories[known] != directory for known in found.directories):
        raise UsageProblem(f"There is a project {label} already. Name this one with --name.")
    write_projects(context.environ, replace(found, directories={**found.directories, label: directory}))
    context.terminal.say(f"Added {label}: {directory}. In a chat: /new {label} and your first words")
    if not found.bring:
        context.terminal.say(f"Sessions that are there already are not listed: {context.prog} projects bring on")
    _result(context)
    return 0


def remove(context: Context) -> int:
    """Close a directory; sessions of it that are in a chat stay there. Raises UsageProblem."""
    found = read_projects(context.environ)
    label = context.args.name
    if label not in found.directories:
        raise UsageProblem(f"There is no project {label}. List them with: {context.prog} projects")
    kept = {known: where for known, where in found.directories.items() if known != label}
    write_projects(context.environ, replace(found, directories=kept))
    context.terminal.say(f"Removed {label}. Sessions of it that are in a chat stay there.")
    _result(context)
    return 0


def bring(context: Context) -> int:
    """Let chats list and bring sessions of the projects, or not."""
    is_on = context.args.switch == "on"
    write_projects(context.environ, replace(read_projects(context.environ), bring=is_on))
    context.terminal.say(BRING if is_on else "Sessions are not listed or brought any more. `/new` still works.")
    _result(context)
    return 0


def ask_to_bring(context: Context) -> None:
    """Ask once, where a person sits: it is off until they say yes."""
    found, terminal = read_projects(context.environ), context.terminal
    if found.bring or not terminal.interactive or terminal.json_output:
        return
    terminal.say(f"\nSessions of your own agents from a chat: off. {BRING}")
    try:
        answer = terminal.ask("Let your chats list and bring sessions of listed projects? [y/N] ")
    except EOFError:
        return
    if answer.strip().lower() in {"y", "yes"}:
        write_projects(context.environ, replace(found, bring=True))
        if not found.directories:
            terminal.say(f"Now list a project: {context.prog} projects add DIR")


def _show(context: Context, found: Projects) -> None:
    _result(context)
    if not found.directories:
        context.terminal.say(f"No projects. Add one with: {context.prog} projects add DIR")
    for line in aligned([[label, str(where)] for label, where in found.directories.items()]):
        context.terminal.say(line)
    context.terminal.say(f"bring is {'on' if found.bring else 'off'}")


def _result(context: Context) -> None:
    found = read_projects(context.environ)
    known = [{"label": label, "directory": str(where)} for label, where in found.directories.items()]
    context.terminal.result({"projects": known, "bring": found.bring})
