"""`handoff completion`: a script for the shell, made from the command line's own definition."""

import argparse

from handoff_cli import arguments
from handoff_cli.context import Context


def run(context: Context) -> int:
    """Prints it; the first line says how to use it."""
    top = arguments.parser("handoff")
    words = _Words(top)
    context.terminal.raw({"bash": _bash, "zsh": _zsh, "fish": _fish}[context.args.shell](words))
    return 0


class _Words:
    """Per command: what may follow it, with a text for each."""

    def __init__(self, top: argparse.ArgumentParser) -> None:
        commands = _subcommands(top)
        self.commands = {name: command.description or "" for name, command in commands.items()}
        self.options = {name: _options(command) for name, command in commands.items()}
        self.values = {name: _values(command) for name, command in commands.items()}


def _subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:  # noqa: SLF001 - argparse offers no other way to read its own definition
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - see above
            return dict(action.choices)
    return {}


def _options(parser: argparse.ArgumentParser) -> dict[str, str]:
    shown = (action for action in parser._actions if action.option_strings)  # noqa: SLF001 - see above
    return {action.option_strings[0]: (action.help or "").partition(" (")[0] for action in shown}


def _values(parser: argparse.ArgumentParser) -> list[str]:
    """Words that may stand without an option: choices, actions, platforms."""
    found = list(_subcommands(parser))
    for action in parser._actions:  # noqa: SLF001 - see above
        if not action.option_strings and isinstance(action.choices, tuple | list):
            found += [str(choice) for choice in action.choices]
        if action.dest == "platform":
            found += arguments.PLATFORMS
    return found


def _bash(words: _Words) -> str:
    cases = "\n".join(
        f'        {name}) words="{" ".join([*words.values[name], *words.options[name]])}" ;;' for name in words.commands
    )
    return f"""# bash: add to ~/.bashrc:  source <(handoff completion bash)
_handoff() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" words
    COMPREPLY=()
    case "$previous" in
        --transcript|--message|--output|-o) compopt -o default; return ;;
        --from) COMPREPLY=($(compgen -W "{" ".join(arguments.SOURCES)}" -- "$current")); return ;;
        --format) COMPREPLY=($(compgen -W "{" ".join(arguments.FORMATS)}" -- "$current")); return ;;
    esac
    case "${{COMP_WORDS[1]}}" in
{cases}
        *) words="{" ".join(words.commands)} --help --url --token" ;;
    esac
    [ "$COMP_CWORD" -eq 1 ] && words="{" ".join(words.commands)} --help --url --token"
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -F _handoff handoff ./handoff
"""


def _zsh(words: _Words) -> str:
    commands = "\n".join(f"        {_quoted(f'{name}:{text}')}" for name, text in words.commands.items())
    cases = "\n".join(
        f"        {name}) compadd -- {' '.join([*words.values[name], *words.options[name]])} ;;"
        for name in words.commands
    )
    return f"""#compdef handoff
# zsh: add to ~/.zshrc after compinit:  source <(handoff completion zsh)
_handoff() {{
    local -a commands
    commands=(
{commands}
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    case "${{words[CURRENT-1]}}" in
        --transcript|--message|--output|-o) _files; return ;;
        --from) compadd {" ".join(arguments.SOURCES)}; return ;;
        --format) compadd {" ".join(arguments.FORMATS)}; return ;;
    esac
    case "${{words[2]}}" in
{cases}
    esac
}}
compdef _handoff handoff
"""


def _fish(words: _Words) -> str:
    lines = ["# fish: handoff completion fish > ~/.config/fish/completions/handoff.fish", "complete -c handoff -f"]
    for name, text in words.commands.items():
        lines.append(f"complete -c handoff -n __fish_use_subcommand -a {name} -d {_quoted(text)}")
        within = _quoted(f"__fish_seen_subcommand_from {name}")
        lines += [f"complete -c handoff -n {within} -a {value}" for value in words.values[name]]
        lines += [_fish_option(within, option, text) for option, text in words.options[name].items()]
    return "\n".join(lines) + "\n"


def _fish_option(within: str, option: str, text: str) -> str:
    name = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
    extra = {
        "--transcript": " -r -F",
        "--message": " -r -F",
        "--output": " -r -F",
        "--from": f" -x -a {_quoted(' '.join(arguments.SOURCES))}",
        "--format": f" -x -a {_quoted(' '.join(arguments.FORMATS))}",
    }
    return f"complete -c handoff -n {within} {name}{extra.get(option, '')} -d {_quoted(text)}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "’") + "'"
