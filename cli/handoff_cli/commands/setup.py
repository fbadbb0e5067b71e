"""`handoff setup PLATFORM`: the service's program talks with the person about the bot, then this one pairs."""

from handoff_cli.commands.link import pair
from handoff_cli.commands.machine import of_this_machine
from handoff_cli.commands.projects import ask_to_bring
from handoff_cli.context import Context
from handoff_cli.errors import CliError, UsageProblem
from handoff_cli.server_program import MAINTAIN, SET_UP_STACK, ask_for_result, options, run

_NOT_RUNNING = 10
"""The program has stored the secrets, and there is no service to pair with yet."""


def setup(context: Context) -> int:
    """Set up a bot on this machine or in a deployment, then link the user's account. Raises CliError."""
    args = context.args
    if args.stack is not None:
        return _in_stack(context)
    if args.region is not None or args.profile is not None:
        raise UsageProblem("--region and --profile are for a deployment on AWS: name it with --stack.")
    if getattr(args, "url", None) or getattr(args, "token", None):
        raise UsageProblem("This sets up the service on this machine, so --url and --token are for --stack only.")
    done = run(context, MAINTAIN, "setup", *options(vars(args), "data", "public_url", "replace"), "--", args.platform)
    if done == _NOT_RUNNING:
        return 0
    if done != 0:
        return done
    found = of_this_machine(context)
    if found is None:
        raise CliError("The bot is set up, but the service names no address. See: handoff doctor")
    return _pair(found)


def _in_stack(context: Context) -> int:
    args = context.args
    if args.data is not None or args.public_url is not None:
        raise UsageProblem("--data and --public-url are for this machine, --stack is on AWS: name one of them.")
    given = options(vars(args), "stack", "region", "profile", "replace")
    done, found, _ = ask_for_result(context, SET_UP_STACK, args.platform, *given)
    if done != 0 or args.no_link:
        return done
    used = context.configuration().url
    if used != found["url"] and not getattr(args, "url", None):
        context.terminal.say(
            f"\nThis CLI uses {used}, and the stack answers at {found['url']}, so no account was linked. With a token for it:\n"
            f"{context.prog} link {args.platform} --url {found['url']}"
        )
        return 0
    return _pair(context)


def _pair(context: Context) -> int:
    if context.args.no_link:
        return 0
    done = _linked(context)
    if done == 0:
        ask_to_bring(context)
    return done


def _linked(context: Context) -> int:
    context.terminal.say("")
    with context.service() as service:
        accounts = next(
            (each.get("accounts") for each in service.platforms() if each["name"] == context.args.platform), None
        )
        if accounts:
            say = context.terminal.say
            say(
                f"Your account {', '.join(accounts)} is linked already. Another one: `handoff link {context.args.platform}`"
            )
            return 0
        return pair(context, service, context.args.platform)
