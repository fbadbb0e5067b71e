"""`handoff chat`: the loop of prompt, slash command or turn, until the person or the session leaves."""

from collections.abc import Iterator

from handoff_cli.api.client import Service
from handoff_cli.chat.answering import say
from handoff_cli.chat.conversation import Conversation
from handoff_cli.chat.resuming import resume
from handoff_cli.chat.slash import SLASH, SYNONYMS, Slash
from handoff_cli.context import Context
from handoff_cli.errors import CliError, Refused, UsageProblem
from handoff_cli.handoff.prepare import checked_title


def run(context: Context) -> int:
    """0 when the person leaves or the session has moved."""
    terminal = context.terminal
    if not terminal.interactive:
        raise UsageProblem("chat needs a terminal. Without one, use `handoff send`, `history` or `export`.")
    with context.service() as service:
        platforms = [str(platform["name"]) for platform in service.platforms() if platform["supported"]]
        conversation = Conversation(service, str(context.directory), title=checked_title(context.args.title))
        if context.args.resume:
            resume(context, conversation, context.args.resume)
        terminal.say(terminal.style(f"/handoff {platforms[0]} moves this session · /help · /quit", "dim"))
        _loop(context, conversation, platforms)
    return 0


def _loop(context: Context, conversation: Conversation, platforms: list[str]) -> None:
    from handoff_cli.chat.prompt import new_prompt  # noqa: PLC0415 - nothing else needs prompt_toolkit

    titles = lambda: _titles(conversation.service)  # noqa: E731 - one word for a line
    prompt = new_prompt(context.terminal, context.environ, names={"platform": lambda: platforms, "title": titles})
    while True:
        try:
            text = prompt.prompt("> ").strip()
        except KeyboardInterrupt:
            context.terminal.say(context.terminal.style("/quit leaves; the session is kept.", "dim"))
            continue
        except EOFError:
            return
        try:
            if text and _obey(context, conversation, text):
                return
        except CliError as error:
            context.terminal.problem(_told(error))
        except KeyboardInterrupt:
            context.terminal.problem("Stopped. See /status for how things stand.")


def _obey(context: Context, conversation: Conversation, text: str) -> bool:
    """True to leave."""
    if not text.startswith("/"):
        say(context, conversation, text)
        return False
    name, _, argument = text[1:].partition(" ")
    return _named(name.lower()).run(context, conversation, argument.strip())


def _named(name: str) -> Slash:
    """The command of that name, or the only one that begins so."""
    name = SYNONYMS.get(name, name)
    fitting = [name] if name in SLASH else [known for known in SLASH if name and known.startswith(name)]
    if len(fitting) == 1:
        return SLASH[fitting[0]]
    which = (
        f"Did you mean {' or '.join(f'/{known}' for known in fitting)}?" if fitting else "/help lists what there is."
    )
    raise UsageProblem(f"There is no /{name}. {which}")


def _told(error: CliError) -> str:
    """A refusal because the session lives elsewhere names the place and the way back, as this prompt has it."""
    if not isinstance(error, Refused) or error.code != "moved":
        return str(error)
    place = error.problem.get("link") or error.problem.get("owner")
    if place == "cli":
        return "Another terminal took this session over. /resume brings it back here; nothing was sent."
    return f"This session lives at {place} now. /resume brings it back here; nothing was sent."


def _titles(service: Service) -> Iterator[str]:
    """For completion, where a service that is away must not disturb the typing."""
    try:
        yield from (str(session["title"]) for session in service.sessions() if session.get("title"))
    except CliError:
        return
