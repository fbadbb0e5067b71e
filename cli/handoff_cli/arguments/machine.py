"""Commands that run and look after what is on this machine: the service, its bots and data, the runner."""

import argparse
from typing import Any

from handoff_cli.arguments.parts import DIRECTORY, FILE, PLATFORM, add_argument, add_command, add_stack, explain
from handoff_cli.runner import AGENTS

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


def up(commands: Any) -> None:
    text = "Run the service on this machine, until Ctrl-C."
    up = add_command(commands, "up", text, "up:up", json_output=False, connects=False)
    explain(up, _UP, _UP_MORE, wraps=False)
    where = "where the data is kept (default: $XDG_DATA_HOME/handoff,\nelse ~/.local/share/handoff)"
    add_argument(up, "--data", metavar="DIR", completes=DIRECTORY, help=where)
    port = "default: 127.0.0.1:8787, or a free port if it is taken;\nbeyond this machine only with --public-url"
    up.add_argument("--listen", metavar="HOST:PORT", help=port)
    proxy = "https:// URL of a reverse proxy in front of it, to which\nplatforms can post; not needed to use bots"
    up.add_argument("--public-url", metavar="URL", help=proxy)
    up.add_argument("--no-runner", action="store_true", help="do not let your own agents on this machine answer")
    service = up.add_mutually_exclusive_group()
    text = "let it start with your session, with these options (systemd\nor launchd); prints how to start and stop it"
    service.add_argument("--install", action="store_true", help=text)
    service.add_argument("--uninstall", action="store_true", help="undo that; the data is kept")


_SETUP = """\
{}

Shows what to click, takes the bot's secrets hidden and checks them at once, stores them where
the service keeps its secrets, lets messages arrive, and links your account with a code. It
asks what turns voice messages into words, if nothing does. It can be repeated: for another
bot, or after it was stopped."""

_SETUP_MORE = """\
try it:
  handoff up                 # in another terminal
  handoff setup telegram     # then: handoff chat, and in it /handoff telegram

scripts: the secrets are read from stdin, one in a line, in the order in which they are asked for."""


def set_up(commands: Any) -> None:
    text = "Set up a bot on a chat platform, step by step, and link your account."
    setup = add_command(commands, "setup", text, "setup:setup", json_output=False)
    explain(setup, _SETUP, _SETUP_MORE)
    add_argument(setup, "platform", metavar="PLATFORM", completes=PLATFORM, help="for example telegram")
    where = "the data directory of the service on this machine, if it is not the usual one"
    add_argument(setup, "--data", metavar="DIR", completes=DIRECTORY, help=where)
    add_stack(setup, "a deployment on AWS, instead of this machine")
    proxy = "the service's own --public-url, while it is not running"
    setup.add_argument("--public-url", metavar="URL", help=proxy)
    setup.add_argument("--replace", action="store_true", help="take the bot over from another service, without asking")
    setup.add_argument("--no-link", action="store_true", help="do not link an account afterwards")


def data(commands: Any) -> None:
    """Commands that look after the data of a service on this machine. They talk to no service, so they take no connection."""
    text = "Save the data of the service on this machine, also while it runs."
    backup = _local(commands, "backup", text, "data:backup")
    add_argument(backup, "file", metavar="FILE", completes=FILE, help="the copy to write; only you can read it")
    backup.add_argument("--force", action="store_true", help="replace FILE if it exists")
    text = "Put a backup in the place of the data; what was there is kept. Stop the service first."
    restore = _local(commands, "restore", text, "data:restore")
    add_argument(restore, "file", metavar="FILE", completes=FILE, help="what `backup` has written")

    text = "Move all data between this machine and a deployment on AWS."
    data = commands.add_parser("data", help=text, description=text)
    actions = data.add_subparsers(dest="action", metavar="ACTION", required=True)
    text = "Write users, sessions, transcripts and routes to a file."
    export = _local(actions, "export", text, "data:export_data")
    export.add_argument("--force", action="store_true", help="leave out what is under way, instead of refusing")
    text = "Write what such a file holds, for users who are not there yet. Stop the service on this machine first."
    imported = _local(actions, "import", text, "data:import_data")
    imported.add_argument("--yes", action="store_true", help="do not ask; users, accounts and tokens are still named")
    for command in (export, imported):
        add_argument(command, "file", metavar="FILE", completes=FILE, help="the export")
        add_stack(command, "a deployment on AWS, instead of this machine")


def _local(commands: Any, name: str, text: str, run: str) -> argparse.ArgumentParser:
    command = add_command(commands, name, text, run, connects=False)
    where = "where the data is (default: $XDG_DATA_HOME/handoff, else ~/.local/share/handoff)"
    add_argument(command, "--data", metavar="DIR", completes=DIRECTORY, help=where)
    return command


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
  Only sessions that `handoff send --from` handed over from this machine, or that you began or
  brought from a chat in a directory that `handoff projects` lists. Each step that the agent asks
  for is asked in the thread. The token needs the scope `run`.

settings, in ~/.config/handoff/runner.toml:
  allow_always = true               # also offer buttons that allow a kind of step for good
  parallel = 4                      # sessions at the same time
  voice = ["transcribe"]            # gets the path of a voice message, prints its words
  agents.acp = ["my-agent", "acp"]  # a command that speaks ACP

exit codes: 0 stopped   1 it cannot start   2 wrong usage   5 revoked or too old: a restart does not help"""


def run(commands: Any) -> None:
    text = "Let your own agents on this machine answer in the threads, until Ctrl-C."
    run = add_command(commands, "run", text, "run:run", json_output=False)
    explain(run, _RUN, _RUN_MORE)
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
    runners = add_command(commands, "runners", "List or revoke your runners.", "runners:runners")
    actions = runners.add_subparsers(dest="action", metavar="ACTION")
    add_command(actions, "list", "List your runners.", "runners:runners")
    revoke = add_command(actions, "revoke", "Revoke a runner; it gets no more turns.", "runners:revoke")
    revoke.add_argument("id", metavar="ID", help="id of the runner, or the beginning of it")


_PROJECTS = """\
{}

Chats may begin sessions of your own agents only in these directories, and bring sessions only
from them, while `handoff run` runs here. The service learns the labels, never a path."""

_PROJECTS_MORE = """\
try it:
  handoff projects add ~/work/shop     # then, in a chat: /new shop and your first words
  handoff projects bring on            # then, in a chat: /sessions and /bring 1"""


def projects(commands: Any) -> None:
    text = "List the directories in which chats may begin sessions of your agents."
    projects = _alone(commands, "projects", text, "projects:projects")
    explain(projects, _PROJECTS, _PROJECTS_MORE)
    actions = projects.add_subparsers(dest="action", metavar="ACTION")
    _alone(actions, "list", "List them.", "projects:projects")
    add = _alone(actions, "add", "Open a directory for sessions from a chat.", "projects:add")
    add_argument(add, "dir", metavar="DIR", completes=DIRECTORY, help="the directory; sessions in it and below")
    add.add_argument("--name", metavar="N", help="its label in chats (default: the name of the directory)")
    remove = _alone(actions, "remove", "Close a directory again.", "projects:remove")
    remove.add_argument("name", metavar="N", help="its label")
    bring = _alone(
        actions, "bring", "Let chats list and bring sessions of these directories, or not.", "projects:bring"
    )
    bring.add_argument("switch", choices=["on", "off"], help="off, if you never said")


def _alone(commands: Any, name: str, text: str, run: str) -> argparse.ArgumentParser:
    return add_command(commands, name, text, run, connects=False)
