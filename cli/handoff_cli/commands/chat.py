"""`handoff chat`: prompt, then slash command or turn, until the user or the session leaves."""

from collections.abc import Iterator

from handoff_cli.api.client import Service
from handoff_cli.chat.conversation import Conversation
from handoff_cli.chat.move import resume
from handoff_cli.chat.slash import SLASH, SYNONYMS, Slash
from handoff_cli.chat.turn import take_turn
from handoff_cli.context import Context
from handoff_cli.errors import CliError, Refused, UsageProblem
from handoff_cli.handoff.prepare import checked_title


def chat(context: Context) -> int:
    """0 when the user leaves or the session has moved."""
    terminal = context.terminal
    if not terminal.interactive:
        raise UsageProblem("chat needs a terminal. Without one, use `handoff send`, `history` or `export`.")
    with context.service() as service:
        platforms = [str(platform["name"]) for platform in service.platforms() if platform["supported"]]
        conversation = Conversation(service, str(context.directory), title=checked_title(context.args.title))
        if context.args.resume:
            resume(context, conversation, context.args.resume)
        terminal.say(
            terminal.style(f"/handoff {next(iter(platforms), 'PLATFORM')} moves this session · /help · /quit", "dim")
        )
        _loop(context, conversation, platforms)
    return 0


def _loop(context: Context, conversation: Conversation, platforms: list[str]) -> None:
    from handoff_cli.chat.prompt import new_prompt  # noqa: PLC0415 - slow to import

    names = {"platform": lambda: platforms, "title": lambda: list(_titles(conversation.service))}
    prompt = new_prompt(context.terminal, context.environ, names=names)
    while True:
        try:
            text = prompt.prompt("> ").strip()
        except KeyboardInterrupt:
            context.terminal.say(context.terminal.style("/quit leaves; the session is kept.", "dim"))
            continue
        except EOFError:
            return
        try:
            if text and _execute(context, conversation, text):
                return
        except CliError as error:
            context.terminal.problem(_text_of(error))
        except KeyboardInterrupt:
            context.terminal.problem("Stopped. /status shows the state of the session.")


def _execute(context: Context, conversation: Conversation, text: str) -> bool:
    """Run a slash command or a turn; True to leave the chat."""
    if not text.startswith("/"):
        take_turn(context, conversation, text)
        return False
    name, _, argument = text[1:].partition(" ")
    return _slash_command(name.lower()).run(context, conversation, argument.strip())


def _slash_command(name: str) -> Slash:
    """The command of that name, or the only one that begins with it."""
    name = SYNONYMS.get(name, name)
    matching = [name] if name in SLASH else [known for known in SLASH if name and known.startswith(name)]
    if len(matching) == 1:
        return SLASH[matching[0]]
    which = (
        f"Did you mean {' or '.join(f'/{known}' for known in matching)}?" if matching else "/help lists the commands."
    )
    raise UsageProblem(f"There is no /{name}. {which}")


def _text_of(error: CliError) -> str:
    """The error's text; if the session has moved, where it is and how to bring it back in this prompt."""
    if not isinstance(error, Refused) or error.code != "moved":
        return str(error)
    place = error.problem.get("link") or error.problem.get("owner")
    if place == "cli":
        return "This session has moved to another terminal. Nothing was sent; /resume brings it back here."
    return f"This session is at {place} now. Nothing was sent; /resume brings it back here."


def _titles(service: Service) -> Iterator[str]:
    """Titles for completion; none if the service does not answer."""
    try:
        yield from (str(session["title"]) for session in service.sessions() if session.get("title"))
    except CliError:
        return
