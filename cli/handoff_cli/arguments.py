"""The command line as data: every command, its arguments and the function that runs it."""

import argparse
from typing import Any

from handoff_cli import __version__
from handoff_cli.inside import HOOKED, MCP
from handoff_cli.readers import READERS
from handoff_cli.runner import AGENTS

FORMATS = ("messages", "jsonl", "markdown")
SCOPES = ("handoff", "read", "run", "admin")
SHELLS = ("bash", "zsh", "fish", "tcsh", "powershell")
# How the shell completes an argument; `completion` turns these into what shtab understands.
FILE, DIRECTORY, PLATFORM, SESSION = "file", "directory", "platforms", "sessions"

_EXIT_CODES = """\
exit codes:
  0 success   1 failed or refused   2 wrong usage   3 still running after the time-out
  4 service not reachable   5 the service does not accept this runner   130 interrupted"""


_UP = """\
{}

One process and one database file, which is kept: sessions, threads and tokens are there
after a restart. The other commands find this service by themselves."""

_UP_MORE = """\
try it, without a bot:
  handoff up                 # simulated chats, on a page whose address it prints
  handoff chat               # in a second terminal; /handoff telegram moves the session

use it, with your bot and your agent:
  HANDOFF_AGENT=openai HANDOFF_AGENT_KEY=… handoff up
  handoff setup telegram     # in a second terminal; the service goes on with your bot

or put such variables, one NAME=value in a line, into the file `settings` where the data is.

exit codes: 0 stopped   1 it cannot start now   2 wrong usage
  3 refused: another process has the data, or this version cannot use it"""

_DEPLOY = """\
{}

It builds the functions, uploads them, shows what AWS would change and asks before it applies
that. It adds you as the first user and lets this CLI use the deployment. The same command
upgrades; repeat it after any interruption. It uses the AWS credentials of this terminal."""

_DEPLOY_MORE = """\
try it:
  handoff deploy --dry-run                  # needs no credentials and changes nothing
  handoff deploy --region eu-central-1
  handoff deploy --secret telegram/bot_token
  handoff deploy --set Agent=openai --set AgentModel=NAME --secret agent/key

settings, for --settings FILE:
  stack = "handoff-team"                    # several stacks may be side by side
  region = "eu-central-1"
  snap_start = false
  [parameters]                              # those that are not named keep their values
  Agent = "bedrock"
  AlarmEmail = "ops@example.org"

exit codes: 0 deployed   1 failed or refused   2 wrong usage
  130 interrupted: what AWS has begun goes on there"""

_RUN = """\
{}

It takes turns of sessions that this machine handed over, lets your real agent answer them in
the session's directory and under its own session id, and shows progress and questions in the
thread. It only makes outgoing calls: no port is opened. Where no runner is awake, the message
waits, or the deployment's model answers if you say /cloud in the thread."""

_RUN_MORE = """\
try it:
  handoff run                               # in a second terminal, or with --install for good
  handoff send telegram --from claude-code  # your Claude Code goes on in the thread

what may run:
  Only sessions that `handoff send --from` handed over from this machine. Each step that the
  agent asks for is asked in the thread. The token needs the scope `run`.

settings, in ~/.config/handoff/runner.toml:
  allow_always = true               # also offer buttons that allow a kind of step for good
  parallel = 4                      # sessions at the same time
  agents.acp = ["my-agent", "acp"]  # a command that speaks ACP

exit codes: 0 stopped   1 it cannot start   2 wrong usage   5 revoked or too old: a restart does not help"""


def parser(prog: str) -> argparse.ArgumentParser:
    """The whole command line; `run` in the result is `module:function` in `handoff_cli.commands`."""
    top = argparse.ArgumentParser(
        prog=prog,
        description="Move a live terminal agent session into a chat thread, and bring it back.",
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[_connection()],
    )
    top.add_argument("--version", action="version", version=f"handoff {__version__}", help="show the version and exit")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    for add in (
        _chat,
        _send,
        _handoffs,
        _sessions,
        _service,
        _up,
        _set_up,
        _link,
        _deploy,
        _data,
        _run,
        _tokens,
        _config,
        _inside,
        _completion,
    ):
        add(commands)
    return top


def _connection() -> argparse.ArgumentParser:
    """Options accepted before and after the command; SUPPRESS keeps the later one from erasing the earlier."""
    shared = argparse.ArgumentParser(add_help=False)
    group = shared.add_argument_group("connection")
    group.add_argument(
        "--url",
        default=argparse.SUPPRESS,
        help="URL of the service (default: HANDOFF_URL, config file, .local/env, the service of `handoff up`)",
    )
    group.add_argument(
        "--token", default=argparse.SUPPRESS, help="your token (better: HANDOFF_TOKEN or the config file)"
    )
    group.add_argument(
        "--insecure",
        action="store_true",
        default=argparse.SUPPRESS,
        help="allow an http:// URL beyond this machine (or set HANDOFF_INSECURE=1)",
    )
    return shared


def _command(commands: Any, name: str, text: str, run: str, *, json_output: bool = True) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text, parents=[_connection()])
    command.set_defaults(run=run)
    if json_output:
        command.add_argument("--json", action="store_true", help="print one JSON value, for scripts")
    return command


def _argument(container: Any, *names: str, completes: str = "", **options: Any) -> None:
    """An argument, and how the shell completes it."""
    container.add_argument(*names, **options).completes = completes


def _chat(commands: Any) -> None:
    text = "Talk with the agent here; /handoff moves the session."
    chat = _command(commands, "chat", text, "chat:chat", json_output=False)
    _argument(chat, "--resume", metavar="TITLE|ID", completes=SESSION, help="continue this session, wherever it is now")
    chat.add_argument("--title", metavar="T", help="title of a new session")


class _Tools(tuple[str, ...]):
    """The names of tools, for completion; on the command line an id may follow after a colon."""

    __slots__ = ()

    def __contains__(self, value: object) -> bool:
        name, colon, session = str(value).partition(":")
        return super().__contains__(name) and bool(session.strip()) == bool(colon)


def _send(commands: Any) -> None:
    send = _command(commands, "send", "Hand a session over to a chat.", "send:send")
    _platform(send)
    what = send.add_argument_group("what to hand over")
    _argument(what, "--transcript", metavar="FILE", completes=FILE, help="JSON or JSONL messages; - is stdin")
    what.add_argument(
        "--from",
        dest="source",
        metavar="TOOL[:ID]",
        choices=_Tools(READERS),
        help=f"the session with that id, or the current one of this directory, of {', '.join(READERS)}",
    )
    _argument(what, "--session", metavar="TITLE|ID", completes=SESSION, help="a session that the service already has")
    what.add_argument("--title", metavar="T", help="title of the session")
    _argument(what, "--message", metavar="FILE", completes=FILE, help="a first message to the agent there; - is stdin")
    what.add_argument("--redact", action="store_true", help="mask likely secrets")
    where = send.add_argument_group("where and how")
    where.add_argument("--to", metavar="CHAT", help="a chat other than your home chat")
    where.add_argument("--require-thread", action="store_true", help="fail if no thread can be opened")
    where.add_argument("--replace", action="store_true", help="replace a session that is in the chat already")
    where.add_argument("--share", action="store_true", help="let other people that the service knows talk there too")
    _argument(
        what,
        "--native",
        metavar="ID",
        help="with --transcript: the id of the session in your agent (run --agent acp:…)",
    )
    where.add_argument(
        "--runner",
        action=argparse.BooleanOptionalAction,
        help="your own agent on this machine answers, or the deployment's model (default: if a runner is on)",
    )
    where.add_argument("--no-wait", action="store_true", help="do not wait; check with `status`")
    where.add_argument("--yes", action="store_true", help="do not ask about likely secrets")
    _timeout(where)


def _handoffs(commands: Any) -> None:
    status = _command(commands, "status", "Show the state of a handoff.", "handoffs:status")
    status.add_argument("id", metavar="ID", nargs="?", help="id of the handoff (default: list the newest)")
    wait = _command(commands, "wait", "Wait for a handoff to end.", "handoffs:wait")
    wait.add_argument("id", metavar="ID", help="id of the handoff")
    _timeout(wait)
    text = "Cancel a handoff that has not moved the session yet."
    cancel = _command(commands, "cancel", text, "handoffs:cancel")
    cancel.add_argument("id", metavar="ID", help="id of the handoff")


def _sessions(commands: Any) -> None:
    text = "Bring a session back to the terminal and show the new messages."
    resume = _command(commands, "resume", text, "sessions:resume")
    _session(resume)
    resume.add_argument("--fork", action="store_true", help="make a copy; the original stays where it is")
    sessions = _command(commands, "sessions", "List your sessions, newest first.", "sessions:sessions")
    sessions.add_argument("--limit", metavar="N", type=_count, default=20, help="at most N (default: 20)")
    history = _command(commands, "history", "Show the messages of a session.", "sessions:history")
    _session(history)
    history.add_argument("--last", metavar="N", type=_count, help="only the last N messages")
    export = _command(commands, "export", "Write a session to a file or to stdout.", "sessions:export")
    _session(export)
    export.add_argument("--format", choices=FORMATS, default="messages", help="messages: a JSON array (default)")
    _argument(export, "--output", "-o", metavar="FILE", completes=FILE, help="write to this file instead of stdout")


def _service(commands: Any) -> None:
    _command(commands, "platforms", "List the platforms, their state and your home chats.", "platforms:platforms")
    text = "Check service, token, platforms and clock, and the data of a service on this machine; suggest fixes."
    doctor = _command(commands, "doctor", text, "doctor:doctor")
    where = "the data directory of a service on this machine, if it is not the usual one"
    _argument(doctor, "--data", metavar="DIR", completes=DIRECTORY, help=where)
    _stack(doctor, "also ask AWS about this deployment, with your credentials")


def _up(commands: Any) -> None:
    text = "Run the service on this machine, until Ctrl-C."
    up = commands.add_parser(
        "up", help=text, description=_UP.format(text), epilog=_UP_MORE, formatter_class=argparse.RawTextHelpFormatter
    )
    up.set_defaults(run="up:up")
    where = "where the data is kept (default: $XDG_DATA_HOME/handoff,\nelse ~/.local/share/handoff)"
    _argument(up, "--data", metavar="DIR", completes=DIRECTORY, help=where)
    port = "default: 127.0.0.1:8787, or a free port if it is taken;\nbeyond this machine only with --public-url"
    up.add_argument("--listen", metavar="HOST:PORT", help=port)
    proxy = "https:// URL of a reverse proxy in front of it, to which\nplatforms can post; not needed to use bots"
    up.add_argument("--public-url", metavar="URL", help=proxy)
    up.add_argument("--no-runner", action="store_true", help="do not let your own agents on this machine answer")
    service = up.add_mutually_exclusive_group()
    text = "let it start with your session, with these options (systemd\nor launchd); prints how to start and stop it"
    service.add_argument("--install", action="store_true", help=text)
    service.add_argument("--uninstall", action="store_true", help="undo that; the data is kept")


def _deploy(commands: Any) -> None:
    text = "Run the service in your AWS account: create it, or upgrade it."
    deploy = commands.add_parser(
        "deploy",
        help=text,
        description=_DEPLOY.format(text),
        epilog=_DEPLOY_MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    deploy.set_defaults(run="deploy:deploy")
    _stack(deploy, "name of the CloudFormation stack (default: handoff)")
    _argument(deploy, "--settings", metavar="FILE", completes=FILE, help="a TOML file, see below; options win over it")
    deploy.add_argument(
        "--set", action="append", metavar="NAME=VALUE", help="a parameter of the template, such as Agent=bedrock"
    )
    deploy.add_argument("--user", metavar="NAME", help="the first user (default: your name on this machine)")
    deploy.add_argument(
        "--snap-start",
        action=argparse.BooleanOptionalAction,
        help="shorter cold starts for about $23 a month, see docs/deploy.md (default: as it is)",
    )
    ready = "an artefact that `make bundle` has built, instead of building one"
    _argument(deploy, "--bundle", metavar="FILE", completes=FILE, help=ready)
    look = deploy.add_mutually_exclusive_group()
    look.add_argument("--dry-run", action="store_true", help="show the plan, the rights and the costs, and stop")
    look.add_argument("--policy", action="store_true", help="print the IAM policy that a deployer needs, and stop")
    deploy.add_argument("--yes", action="store_true", help="apply the plan without a question")
    deploy.add_argument(
        "--secret",
        action="append",
        metavar="NAME",
        help="ask for this secret (or read it from stdin) and store it: agent/key, telegram/bot_token …; may be repeated",
    )
    deploy.add_argument(
        "--switch", action="store_true", help="let this CLI use it, even if it uses another service now"
    )
    deploy.add_argument("--new-token", action="store_true", help="issue a new token even if this CLI has one")
    deploy.add_argument("--no-token", action="store_true", help="issue none, for example in CI")
    deploy.add_argument("--take-webhooks", action="store_true", help="let bots that post elsewhere post here")
    deploy.add_argument(
        "--replace-tables", action="store_true", help="accept a plan that replaces tables by empty ones"
    )
    deploy.add_argument("--json", action="store_true", help="print one JSON value, for scripts")

    text = "Remove the service from your AWS account. Data is kept unless you say otherwise."
    destroy = commands.add_parser("destroy", help=text, description=text)
    destroy.set_defaults(run="deploy:destroy", settings=None)
    _stack(destroy, "name of the CloudFormation stack (default: handoff)")
    destroy.add_argument(
        "--delete-data", action="store_true", help="also tables, queues, secrets and the uploaded code"
    )
    destroy.add_argument("--yes", action="store_true", help="do not ask")
    destroy.add_argument("--json", action="store_true", help="print one JSON value, for scripts")


def _stack(command: argparse.ArgumentParser, text: str) -> None:
    command.add_argument("--stack", metavar="NAME", help=text)
    command.add_argument("--region", metavar="REGION", help="default: as the AWS CLI finds it")
    command.add_argument("--profile", metavar="PROFILE", help="of the AWS CLI (default: as it finds it)")


_SETUP = """\
{}

Shows what to click, takes the bot's secrets hidden and checks them at once, stores them where
the service keeps its secrets, lets messages arrive, and links your account with a code. It
can be repeated: for another bot, or after it was stopped."""

_SETUP_MORE = """\
try it:
  handoff up                 # in another terminal
  handoff setup telegram     # then: handoff chat, and in it /handoff telegram

scripts: the secrets are read from stdin, one in a line, in the order in which they are asked for."""


def _set_up(commands: Any) -> None:
    text = "Set up a bot on a chat platform, step by step, and link your account."
    setup = commands.add_parser(
        "setup",
        help=text,
        description=_SETUP.format(text),
        epilog=_SETUP_MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[_connection()],
    )
    setup.set_defaults(run="setup:setup")
    _argument(setup, "platform", metavar="PLATFORM", completes=PLATFORM, help="for example telegram")
    where = "the data directory of the service on this machine, if it is not the usual one"
    _argument(setup, "--data", metavar="DIR", completes=DIRECTORY, help=where)
    setup.add_argument("--stack", metavar="NAME", help="a deployment on AWS, instead of this machine")
    proxy = "the service's own --public-url, while it is not running"
    setup.add_argument("--public-url", metavar="URL", help=proxy)
    setup.add_argument("--replace", action="store_true", help="take the bot over from another service, without asking")
    setup.add_argument("--no-link", action="store_true", help="do not link an account afterwards")


def _link(commands: Any) -> None:
    text = "Link your account on a chat platform with a code; handoffs then arrive there."
    link = _command(commands, "link", text, "link:link")
    names = "default: the one that is set up"
    _argument(link, "platform", metavar="PLATFORM", nargs="?", completes=PLATFORM, help=names)
    link.add_argument("--no-wait", action="store_true", help="do not wait until the code is used (nor does --json)")
    text = "Unlink your accounts on a platform; what is said there is ignored from then on."
    _platform(_command(commands, "unlink", text, "link:unlink"))
    _command(commands, "homes", "List where your handoffs arrive, and your linked accounts.", "link:homes")
    text = "Invite another person to this service with a code (needs a token with the scope admin)."
    invite = _command(commands, "invite", text, "link:invite")
    invite.add_argument("name", metavar="NAME", help="a short name for them: letters, digits, - and _")
    _argument(invite, "platform", metavar="PLATFORM", nargs="?", completes=PLATFORM, help=names)
    invite.add_argument("--no-wait", action="store_true", help="do not wait until the code is used (nor does --json)")
    text = "Get your token with the link that the bot sent you after an invitation; asks for the link, hidden."
    _command(commands, "login", text, "login:login")


def _data(commands: Any) -> None:
    """What looks after a service on this machine. These talk to no service, so they take no connection."""
    text = "Save the data of the service on this machine, also while it runs."
    backup = _local(commands, "backup", text, "data:backup")
    _argument(backup, "file", metavar="FILE", completes=FILE, help="the copy to write; only you can read it")
    backup.add_argument("--force", action="store_true", help="replace FILE if it exists")
    text = "Put a backup in the place of the data; what was there is kept. Stop the service first."
    restore = _local(commands, "restore", text, "data:restore")
    _argument(restore, "file", metavar="FILE", completes=FILE, help="what `backup` has written")

    data = commands.add_parser("data", help="Move all data between this machine and a deployment on AWS.")
    actions = data.add_subparsers(dest="action", metavar="ACTION", required=True)
    text = "Write users, sessions, transcripts and routes to a file."
    export = _local(actions, "export", text, "data:export_data")
    export.add_argument("--force", action="store_true", help="leave out what is under way, instead of refusing")
    text = "Write what such a file holds, where nothing is yet. Stop the service on this machine first."
    for command in (export, _local(actions, "import", text, "data:import_data")):
        _argument(command, "file", metavar="FILE", completes=FILE, help="the export")
        command.add_argument("--stack", metavar="NAME", help="a deployment on AWS, instead of this machine")


def _local(commands: Any, name: str, text: str, run: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    command.set_defaults(run=run)
    where = "where the data is (default: $XDG_DATA_HOME/handoff, else ~/.local/share/handoff)"
    _argument(command, "--data", metavar="DIR", completes=DIRECTORY, help=where)
    command.add_argument("--json", action="store_true", help="print one JSON value, for scripts")
    return command


def _run(commands: Any) -> None:
    text = "Let your own agents on this machine answer in the threads, until Ctrl-C."
    run = commands.add_parser(
        "run",
        help=text,
        description=_RUN.format(text),
        epilog=_RUN_MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[_connection()],
    )
    run.set_defaults(run="run:run")
    run.add_argument(
        "--agent",
        action="append",
        metavar="NAME",
        help=f"only this agent: {', '.join(AGENTS)} or acp:COMMAND; may be repeated (default: all that are installed)",
    )
    run.add_argument("--name", metavar="N", help="name of this machine in the threads (default: its host name)")
    how = run.add_mutually_exclusive_group()
    how.add_argument("--once", action="store_true", help="answer what is waiting, then stop")
    how.add_argument(
        "--install",
        action="store_true",
        help="let it start with your session, with these options (systemd or launchd); prints how to start and stop it",
    )
    how.add_argument("--uninstall", action="store_true", help="undo that")
    runners = _command(commands, "runners", "List or revoke your runners.", "runners:runners")
    actions = runners.add_subparsers(dest="action", metavar="ACTION")
    _command(actions, "list", "List your runners.", "runners:runners")
    revoke = _command(actions, "revoke", "Revoke a runner; it gets no more turns.", "runners:revoke")
    revoke.add_argument("id", metavar="ID", help="id of the runner, or the beginning of it")


def _tokens(commands: Any) -> None:
    tokens = _command(commands, "tokens", "List, create or revoke your tokens.", "tokens:tokens", json_output=False)
    actions = tokens.add_subparsers(dest="action", metavar="ACTION", required=True)
    _command(actions, "list", "List your tokens.", "tokens:tokens")
    new = _command(actions, "new", "Create a token and show it once.", "tokens:new")
    new.add_argument("--label", metavar="L", default="", help="what the token is for")
    new.add_argument("--scope", action="append", choices=SCOPES, help="may be repeated (default: as your own token)")
    new.add_argument("--days", metavar="N", type=_count, help="how long it is valid (default: until it is revoked)")
    revoke = _command(actions, "revoke", "Revoke a token; requests with it fail from then on.", "tokens:revoke")
    revoke.add_argument("id", metavar="ID", help="id of the token")


def _config(commands: Any) -> None:
    config = _command(commands, "config", "Show or change the configuration.", "config:show", json_output=False)
    actions = config.add_subparsers(dest="action", metavar="ACTION", required=True)
    _command(actions, "show", "Show the configuration and where it comes from.", "config:show")
    setting = _command(actions, "set", "Save the service's URL or your token in the config file.", "config:set_value")
    setting.add_argument("key", choices=("url", "token"))
    setting.add_argument("value", nargs="?", help="default: ask, or read it from stdin")
    unset = _command(actions, "unset", "Remove a value from the config file.", "config:unset_value")
    unset.add_argument("key", choices=("url", "token"))
    home = _command(actions, "home", "Set the chat where handoffs to a platform arrive.", "config:home")
    _platform(home)
    home.add_argument("chat", metavar="CHAT", help="id of the chat on that platform")


def _inside(commands: Any) -> None:
    # No help text: agents call it, not people.
    hook = commands.add_parser("hook", description="Called by the hooks of agents; reads an event from stdin.")
    hook.set_defaults(run="hook:hook")
    hook.add_argument("agent", metavar="AGENT", choices=HOOKED)
    hook.add_argument("--move", action="store_true", help=argparse.SUPPRESS)
    hook.add_argument("--notify", metavar="PLATFORM", nargs="?", const="", help=argparse.SUPPRESS)
    hook.add_argument("--post", action="store_true", help=argparse.SUPPRESS)
    server = "Run an MCP server on stdin and stdout, for agents without hooks."
    mcp = _command(commands, "mcp", server, "mcp:mcp", json_output=False)
    mcp.add_argument("--agent", choices=READERS, help="the agent that starts it, if Handoff can read its sessions")
    text = "Make an agent understand /handoff: shows what it changes, and asks."
    install = _command(commands, "install", text, "install:install", json_output=False)
    install.add_argument("agent", metavar="AGENT", nargs="?", choices=(*HOOKED, MCP), help=", ".join((*HOOKED, MCP)))
    notices = install.add_mutually_exclusive_group()
    notices.add_argument(
        "--notify",
        metavar="PLATFORM",
        nargs="?",
        const="",
        help="also post in your home chat (there, or where you have one) when the agent needs you or is done",
    )
    notices.add_argument("--no-notify", action="store_true", help="no more of that")
    install.add_argument("--list", action="store_true", help="show which agents are here, and what is installed")
    install.add_argument("--yes", action="store_true", help="do not ask")
    uninstall = _command(commands, "uninstall", "Undo `install`.", "install:uninstall", json_output=False)
    uninstall.add_argument("agent", metavar="AGENT", choices=HOOKED, help=", ".join(HOOKED))
    uninstall.add_argument("--yes", action="store_true", help="do not ask")


def _completion(commands: Any) -> None:
    text = "Print a completion script for your shell."
    completion = _command(commands, "completion", text, "completion:completion", json_output=False)
    completion.add_argument(
        "what",
        metavar="SHELL",
        choices=(*SHELLS, PLATFORM, SESSION),
        help=f"{', '.join(SHELLS)}; `{PLATFORM}` and `{SESSION}` print the names that the scripts complete",
    )


def _platform(command: argparse.ArgumentParser) -> None:
    help_text = "for example telegram; `handoff platforms` lists them"
    _argument(command, "platform", metavar="PLATFORM", completes=PLATFORM, help=help_text)


def _session(command: argparse.ArgumentParser) -> None:
    help_text = "title or id, or the beginning of one"
    _argument(command, "session", metavar="TITLE|ID", completes=SESSION, help=help_text)


def _timeout(command: Any) -> None:
    command.add_argument(
        "--timeout",
        metavar="S",
        type=_seconds,
        help="stop waiting after S seconds (default: 60 until it is picked up, then 15 minutes)",
    )


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise argparse.ArgumentTypeError(f"not a number of seconds: {text!r}")
    return value


def _count(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 10**9:
        raise argparse.ArgumentTypeError(f"not a number from 1: {text!r}")
    return int(text)
