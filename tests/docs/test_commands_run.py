"""Every command that the pages for users show is run as written here, or by a test that is named here."""

import ast
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from local.chats import CHATS
from local.chats.matrix.set_pusher import main as set_pusher
from local.chats.relays.configuration import secret_names, variable
from local.chats.simulator import Simulator
from tests.local.operate.test_set_up import POSTING
from tests.support.syntax import parse
from tests.support.waiting import eventually

ROOT = Path(__file__).resolve().parents[2]
NOT_TYPED = {"commands.md", "release.md"}
"""Compared with the parser, and for a maintainer."""
PAGES = [
    ROOT / "README.md",
    *(page for page in ROOT.glob("docs/*.md") if page.name not in NOT_TYPED),
    *ROOT.glob("docs/platforms/*.md"),
]
pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
_PROGRAMS = r"(?:\./)?handoff|make|curl|uv|pip|pipx|docker|aws|signal-cli|(?:\.venv/bin/)?python|export"
_CALL = re.compile(rf"(?:[A-Z_]+=\S* )*(?:{_PROGRAMS}) \S.*")
_NO_COMMANDS = re.compile(
    r"terminal +service|# a comment|stack = |\[Service\]|Signal ──|/|\[agents|warm = |X-Handoff-|\{\"format\""
)
"""Begin the blocks that show something else: drawings, files, headers, and what is typed in a chat."""

UP = "handoff up"
REQUEST = (
    'curl -X POST "$HANDOFF_URL/handoffs" -H "Authorization: Bearer $HANDOFF_TOKEN" '
    '-H "Idempotency-Key: parser-$(date +%s)" -H "Content-Type: application/json" '
    """-d '{"platform": "telegram", "session": {"title": "Fix the parser", """
    """"messages": [{"role": "user", "content": "…"}]}}'"""
)
SEND = [
    "./handoff send telegram --transcript examples/session.jsonl",
    "handoff send telegram --from claude-code",
    "handoff send telegram --from codex:01a1e50d",
    REQUEST,
]
LOOK = ["handoff homes", "handoff config show", "handoff doctor", "handoff backup FILE", "handoff unlink telegram"]
STOPPED = ["handoff restore FILE"]
WITHOUT_CREDENTIALS = ["handoff deploy --dry-run", "handoff deploy --policy"]
OTHER_STARTS = [
    "HANDOFF_AGENT=openai HANDOFF_AGENT_KEY=sk-… HANDOFF_AGENT_MODEL=gpt-5-mini handoff up",
    "HANDOFF_AGENT=openai HANDOFF_AGENT_URL=https://openrouter.ai/api/v1 HANDOFF_AGENT_KEY=… HANDOFF_AGENT_MODEL=… handoff up",
    (
        "HANDOFF_AGENT=openai HANDOFF_AGENT_URL=http://127.0.0.1:11434/v1 HANDOFF_AGENT_MODEL=llama3.2 "
        "HANDOFF_AGENT_WINDOW=8192 handoff up"
    ),
    "HANDOFF_AGENT=openai HANDOFF_AGENT_KEY=… HANDOFF_AGENT_MODEL=… handoff up",
    "handoff up --listen 127.0.0.1:8787 --public-url https://handoff.example.org",
]
SECRETS_OF_WHATSAPP = (
    "export WHATSAPP_ACCESS_TOKEN=… WHATSAPP_APP_SECRET=… WHATSAPP_VERIFY_TOKEN=… "
    "WHATSAPP_PHONE_NUMBER_ID=… WHATSAPP_USER_ID=15551234567"
)
OF_WHATSAPP = [SECRETS_OF_WHATSAPP, "handoff up --public-url https://handoff.example"]
PUSHER = ".venv/bin/python -m local.chats.matrix.set_pusher --url <ApiUrl> --api-url https://<homeserver>"
RUN_HERE = {PUSHER, UP, *SEND, *LOOK, *STOPPED, *WITHOUT_CREDENTIALS, *OTHER_STARTS, *OF_WHATSAPP}

_PAIRED = "tests/cli/test_first_handoff.py::test_every_bot_in_one_service_and_a_second_person"
_INVITED = "tests/cli/test_link.py::test_an_invited_person_logs_in_once"
_LINKED = "tests/cli/test_link.py::test_link_shows_a_code_and_waits_for_it"
_DEPLOYED = "tests/journeys/test_deploy.py::test_three_commands_from_nothing_to_a_handoff"
_REMOVED = "tests/journeys/test_deploy.py::test_the_token_is_in_one_private_file_only"
_IN_STACK = "tests/local/operate/test_set_up.py::test_a_bot_is_set_up"
_UNIT = "tests/cli/test_service_unit.py::test_no_secret_gets_into_the_unit"
_INSTALLED = "tests/cli/test_up.py::test_install_up_send_restart_and_everything_is_there"
_SERVED = "tests/local/server/test_restarts.py::test_what_is_said_while_it_is_off_is_answered"
_REFUSED = "tests/local/operate/test_set_up.py::test_a_platform_for_one_machine_is_refused_before_anything_is_asked"
_REFUSED_SECRET = (
    "tests/local/operate/deploy/test_apply.py::test_a_platform_for_one_machine_is_refused_with_that_sentence"
)
_PUBLIC = "tests/local/server/test_restarts.py::test_a_bot_with_a_public_url_needs_its_webhook_secret"
_RELAY = "tests/local/chats/relays/test_command.py::test_a_relay_runs_until_sigterm_and_logs_no_secret"
_REGISTERED = "tests/local/chats/relays/test_command.py::test_registering_slash_commands_is_idempotent"
_FOR_AWS = "tests/cli/test_wheel.py::test_a_deploy_needs_its_extra_and_nothing_of_the_service"
_ADDED = "tests/local/operate/test_admin.py::test_a_new_user_has_a_token_an_account_and_a_home"
_AGENT_KEY = "tests/local/operate/deploy/test_apply.py::test_the_key_of_the_agent_reaches_only_the_secret_store"
_STRANGERS = "tests/local/operate/deploy/test_strangers.py::test_what_is_not_handoffs_stays_beside_its_stack"
_PROJECTS = "tests/cli/test_projects.py::test_a_directory_is_added_listed_and_removed"
_REMOVE = ".venv/bin/python -m local.operate.admin"
_REMOVED_USER = "tests/local/operate/test_admin.py::test_a_user_is_removed_only_when_confirmed"
_IDENTIFIED = "tests/local/operate/test_admin.py::test_an_account_with_its_home_is_linked"
_ALL_DATA = "tests/cli/test_up.py::test_the_installed_program_looks_after_its_data"
_STACK_DATA = "tests/local/operate/test_data.py::test_errors_are_explained"
_TOKENS = "tests/cli/test_tokens.py::test_a_token_is_created_listed_and_revoked"
_UNLINKED = "tests/cli/test_tokens.py::test_revoking_names_and_unlinks_accounts"
_RUNNERS = "tests/cli/runner/test_terminal.py::test_runners_are_listed_and_revoked"
_CONSENT = (
    "tests/cli/runner/test_terminal.py::test_an_agent_of_which_nothing_is_known_needs_consent_and_the_start_says_so"
)
_LISTED = "tests/cli/inside/test_install.py::test_an_older_entry_is_replaced"
_TRACELESS = "tests/cli/inside/test_install.py::test_installing_twice_and_removing_leaves_no_trace"
_NOTICES = "tests/cli/inside/test_notify.py::test_notices_are_an_option_that_stays"
_MOVED_INSIDE = "tests/cli/inside/test_hook.py::test_the_session_moves_and_the_link_is_shown"
_SENT = "tests/cli/test_send.py::test_a_stored_session_is_sent_with_all_options"
_OWN_AGENT = "tests/shared/agents/http/test_example_agent.py::test_it_answers_a_long_session"
_NEWEST = "tests/release/test_release.py::test_the_installed_program_can_be_used_from_an_empty_home"
_ADMIN = ".venv/bin/python -m local.operate.admin --sessions-table <SessionsTableName>"
ELSEWHERE = {
    f"{_REMOVE} --sessions-table … --handoffs-table … --files-bucket … remove-user anna --yes": _REMOVED_USER,
    ".venv/bin/python -m local.operate.data": _STACK_DATA,
    "HANDOFF_AGENT_KEY=change-me python3 examples/agent/agent.py": _OWN_AGENT,
    "HANDOFF_AGENT=http HANDOFF_AGENT_URL=http://127.0.0.1:8790/ HANDOFF_AGENT_KEY=change-me make run": _OWN_AGENT,
    "handoff --version": _NEWEST,
    "handoff back": "tests/cli/inside/test_hook.py::test_back_behind_refused_words",
    "handoff cancel ID": "tests/cli/test_handoffs.py::test_cancel_in_time",
    "handoff config set token": "tests/cli/test_config.py::test_config_is_written_for_its_owner_only",
    "handoff data export FILE": _ALL_DATA,
    "handoff data import": _ALL_DATA,
    "handoff data import FILE": _ALL_DATA,
    "handoff install": _TRACELESS,
    "handoff install --list": _LISTED,
    "handoff install AGENT --notify": _NOTICES,
    "handoff install codex --notify": _NOTICES,
    "handoff install mcp": "tests/cli/inside/test_install.py::test_other_agents_get_a_configuration_to_copy",
    "handoff mcp": "tests/cli/inside/test_mcp.py::test_a_conversation_goes_there_and_back",
    "handoff mcp --agent NAME": "tests/cli/inside/test_mcp.py::test_the_session_of_a_known_agent_is_read",
    "handoff backup": _ALL_DATA,
    "handoff data export": _ALL_DATA,
    "handoff destroy --delete-data": _STRANGERS,
    "handoff projects": _PROJECTS,
    "handoff projects add ~/work/shop": _PROJECTS,
    "handoff projects bring on": "tests/cli/test_projects.py::test_bring_is_off_until_it_is_switched_on",
    "handoff run --agent acp:COMMAND": _CONSENT,
    "handoff run --install": "tests/cli/runner/test_install.py::test_the_unit_starts_the_runner_with_these_options",
    "handoff runners": _RUNNERS,
    "handoff runners revoke ID": _RUNNERS,
    "handoff send": _SENT,
    "handoff send PLATFORM": _SENT,
    "handoff send --share": _SENT,
    "handoff status": "tests/cli/test_handoffs.py::test_without_an_id_status_lists_the_newest",
    "handoff telegram": _MOVED_INSIDE,
    "handoff tokens revoke ID": _TOKENS,
    "handoff tokens revoke ID --unlink": _UNLINKED,
    "handoff uninstall claude-code": _TRACELESS,
    "pip install 'handoff-live[runner]'": "tests/cli/test_wheel.py::test_it_runs_with_its_declared_dependencies_only",
    "pipx install 'handoff-live[server]'": _INSTALLED,
    "uv tool install 'handoff-live[server]'": _INSTALLED,
    "handoff chat": "tests/cli/test_chat.py::test_handoff_shows_the_link_and_leaves",
    "handoff config home matrix <id>": "tests/cli/test_config.py::test_config_home_is_saved_on_the_service",
    "handoff deploy": _DEPLOYED,
    "handoff deploy --secret NAME": _DEPLOYED,
    "handoff deploy --secret telegram/bot_token": _DEPLOYED,
    "handoff deploy --set VoiceModel=whisper-1 --secret agent/voice_key": _AGENT_KEY,
    "handoff destroy": _REMOVED,
    "handoff doctor --stack NAME": _REMOVED,
    "handoff install claude-code": "tests/cli/inside/test_notify.py::test_notices_are_an_option_that_stays",
    "handoff invite NAME": _INVITED,
    "handoff invite NAME telegram": _INVITED,
    "handoff link": _LINKED,
    "handoff link telegram --home": "tests/cli/test_link.py::test_a_home_stays_unless_the_person_asked",
    "handoff login": _INVITED,
    "handoff resume": "tests/cli/test_sessions.py::test_resume_shows_the_new_messages",
    "handoff run": "tests/cli/runner/test_turns.py::test_words_are_answered_by_the_agent_in_its_own_session",
    "handoff setup": _PAIRED,
    "handoff tokens new": "tests/cli/test_tokens.py::test_a_token_is_created_listed_and_revoked",
    "handoff up --install": _UNIT,
    "handoff up --uninstall": _UNIT,
    "handoff up --public-url": _PUBLIC,
    "handoff up --public-url …": _PUBLIC,
    "make bundle": "tests/local/operate/deploy/test_bundle.py::test_two_whole_builds_are_identical",
    "make run": "tests/local/run/test_run.py::test_a_run_prints_events_and_stops_on_ctrl_c",
    "make up": _SERVED,
    'make up ARGS="--data DIR"': _SERVED,
    "make site": "tests/docs/test_site.py::test_it_builds_strictly_and_loads_nothing_from_elsewhere",
    "pip install '.[server]'": _INSTALLED,
    "pip install 'handoff-live[server]'": _INSTALLED,
    "uv tool install 'handoff-live[deploy,server]'": _FOR_AWS,
    "python -m local.operate.admin … identify": _IDENTIFIED,
    f"{_ADMIN} add-user anna --telegram 123456789 --home telegram=123456789": _ADDED,
    f"{_ADMIN} identify <user> --matrix @you:server --home matrix='!…'": _IDENTIFIED,
    ".venv/bin/python -m local.chats.relays discord --url <ApiUrl>": _RELAY,
    "DISCORD_BOT_TOKEN=… DISCORD_RELAY_SECRET=… .venv/bin/python -m local.chats.relays discord --url <ApiUrl>": _RELAY,
    ".venv/bin/python -m local.chats.discord.register_commands": _REGISTERED,
}
_HERE_ONLY = [chat for chat in CHATS if chat.spec.here_only]
OF_ANY_PLATFORM = {
    **{f"handoff link {chat.name}": _LINKED for chat in CHATS},
    **{f"handoff setup {chat.name}": _PAIRED for chat in CHATS if chat.spec.set_up and chat.relay},
    **{f"handoff setup {chat.name} --stack handoff": _IN_STACK for chat in POSTING},
    **{f"handoff setup {chat.name} --stack …": _REFUSED for chat in _HERE_ONLY},
    **{f"handoff deploy --secret {name}": _REFUSED_SECRET for chat in _HERE_ONLY for name in chat.spec.secrets},
}
"""Run by these tests for each platform, whether or not a page shows them."""
NAMED = {**ELSEWHERE, **OF_ANY_PLATFORM}
_COMPOSE = "docker compose"
_PARAMETER = "aws ssm put-parameter --type SecureString --name /handoff/matrix"
_LOGIN = '{"type":"m.login.password","identifier":{"type":"m.id.user","user":"handoff"},"password":"…"}'
_DOCKER = "needs a container engine and its images; tests/infrastructure/test_containers.py checks the file"
_MATRIX = "needs a homeserver; tests/real_synapse has one where it is installed"
_SIGNAL = "needs signal-cli and a registered number"
_AWS = "is a command of AWS; the parameter is the one that `handoff setup --stack` writes"
_WRITES = "writes a page or a picture; a test says whether it is current, or sound"
_STACK = "needs a deployment; tests/local/operate/test_data.py runs it as a function, on tables that are simulated"
BEYOND_LOOPBACK = {
    f'{_PARAMETER}/bot_token --value "$MATRIX_BOT_TOKEN"': _AWS,
    f'{_PARAMETER}/webhook_secret --value "$MATRIX_WEBHOOK_SECRET"': _AWS,
    f"curl -s https://<homeserver>/_matrix/client/v3/login -d '{_LOGIN}'": _MATRIX,
    "export MATRIX_BOT_TOKEN=… MATRIX_API_URL=https://<homeserver> MATRIX_USER_ID=@you:server MATRIX_HOME='!…'": _MATRIX,
    "export MATRIX_WEBHOOK_SECRET=$(openssl rand -hex 32)": _MATRIX,
    f"{_COMPOSE} exec -T handoff sh -c 'umask 077; cat > /data/handoff/settings' < settings": _DOCKER,
    f"{_COMPOSE} exec handoff cat /data/handoff/env": _DOCKER,
    f"{_COMPOSE} up --build --detach": _DOCKER,
    "export SIGNAL_ACCOUNT=+15551234567 SIGNAL_USER_ID=… SIGNAL_HOME=…": _SIGNAL,
    "signal-cli -a +15551234567 register": _SIGNAL,
    "signal-cli daemon --http 127.0.0.1:8080 --receive-mode on-connection": _SIGNAL,
    "signal-cli link": _SIGNAL,
    "signal-cli listGroups": _SIGNAL,
    "docker build -t handoff .": _DOCKER,
    "handoff data export FILE --stack NAME": _STACK,
    "handoff data import FILE --stack NAME": _STACK,
    "make bench ARGS=scale": "prints what it measures; tests/bench/test_scale.py compares the rest",
    "make bench ARGS=--write": "measures for minutes",
    "make openapi": _WRITES,
    "make recording-inside": _WRITES,
    "make release": "installs from an index; tests/release runs its steps without one",
    "make scale": _WRITES,
    "make screenshots": _WRITES,
    "make soak": "takes hours",
    "handoff setup discord --stack handoff": "sets an address that Discord posts to before it accepts it",
    "make bench ARGS=cold_start": "measures for minutes",
    "make demo": "takes longer than all that is run here; it is one handoff in the service of `make run`",
    "make test": "runs this test",
}
"""With the reason."""


def plain(line: str) -> str:
    """A line without its comment."""
    return " ".join(re.sub(r"\s+#\s.*$", "", line).split())


def blocks(text: str) -> Iterator[list[str]]:
    """The indented blocks, with lines joined that end with a backslash. Lists and YAML are indented, too, and are no blocks."""
    text = re.sub(r"(?s)^```.*?^```", "", text, flags=re.MULTILINE)
    joined = re.sub(r"\\\n\s*", "", text)
    for block in re.findall(r"(?:\n[ ]{4,}\S.*)+", re.sub(r"\n\s*\n", "\n\n", joined)):
        yield [line.strip() for line in block.strip("\n").splitlines()]


def commands(text: str) -> list[str]:
    shown = [line for block in blocks(text) if not _NO_COMMANDS.match(block[0]) for line in block]
    inline = [span for span in re.findall(r"`([^`\n]+)`", text) if _CALL.fullmatch(plain(span))]
    return [plain(line) for line in (*shown, *inline)]


@pages
def test_every_command_is_run_by_a_test(page: Path) -> None:
    known = {*RUN_HERE, *NAMED, *BEYOND_LOOPBACK}
    assert [command for command in commands(page.read_text()) if command not in known] == []


def test_no_command_is_known_that_the_pages_do_not_show() -> None:
    shown = {command for page in PAGES for command in commands(page.read_text())}
    assert {*RUN_HERE, *ELSEWHERE, *BEYOND_LOOPBACK} - shown == set()


def test_a_new_command_is_found() -> None:
    page = "Do this:\n\n    handoff fly --high     # up\n    curl one \\\n      two\n\nor `handoff land`, not `/handoff slack`.\n"
    assert commands(page) == ["handoff fly --high", "curl one two", "handoff land"]


@pytest.mark.parametrize(("command", "test"), NAMED.items(), ids=NAMED)
def test_the_test_that_is_named_types_the_command(command: str, test: str) -> None:
    file, _, name = test.partition("::")
    text = (ROOT / file).read_text()
    assert name in [node.name for node in ast.walk(parse(text)) if isinstance(node, ast.FunctionDef)]
    used = [
        ROOT / f"tests/support/{module}.py" for module in re.findall(r"^from tests\.support\.(\w+) import", text, re.M)
    ]
    near = [ROOT / file, *used, *(ROOT / file).parent.glob("conftest.py")]
    typed = "\n".join(path.read_text() for path in near)
    assert [word for word in significant(command) if word not in typed] == []


def significant(command: str) -> list[str]:
    """The words that a test of this command cannot do without: the command's name, the module, the options."""
    words = command.split()
    if "-m" in words:
        module = words[words.index("-m") + 1]
        return [module.rpartition(".")[2], *(word for word in words if word.startswith("--"))]
    if words[0] != "handoff":
        return []
    is_stack = "--stack" in words  # then the program behind the command is run, and not the client
    return [
        *([] if is_stack and words[1] == "setup" else [words[1]]),
        *(word for word in words if word.startswith("--")),
    ]


def test_make_starts_what_the_tests_start() -> None:
    expected = {
        "run": "python -m local\n",
        "up": "python -m local.server ",
        "bundle": "python -m local.operate.deploy.bundle\n",
    }
    for target, started in expected.items():
        done = subprocess.run(["make", "--dry-run", target], cwd=ROOT, capture_output=True, text=True, check=True)
        assert started in done.stdout


class Terminal:
    """A shell in an empty home directory, with the client of this checkout, and no way to AWS or to a platform."""

    def __init__(self, home: Path) -> None:
        self.home, self.project = home, home / "project"
        self.data = home / ".local" / "share" / "handoff"
        programs = home / "bin"
        programs.mkdir()
        self.project.mkdir()
        client = programs / "handoff"
        client.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m handoff_cli "$@"\n')
        client.chmod(0o755)
        (self.project / "handoff").symlink_to(client)
        (self.project / "examples").symlink_to(ROOT / "examples")
        self.environ = {
            "PATH": f"{programs}:/usr/bin:/bin",
            "HOME": str(home),
            "PYTHONPATH": str(ROOT / "cli"),
            "LC_ALL": "C.UTF-8",
            "AWS_EC2_METADATA_DISABLED": "true",
            "WHATSAPP_API_URL": "http://127.0.0.1:9",
        }

    def run(self, command: str, **placeholders: str) -> "subprocess.CompletedProcess[str]":
        for name, value in placeholders.items():
            command = command.replace(name, value)
        return subprocess.run(
            ["bash", "-c", command],
            cwd=self.project,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )

    @contextmanager
    def running(self, command: str) -> Iterator[None]:
        """Start it, wait until it answers, and stop it at the end."""
        shown = self.home / "output"
        with shown.open("w") as output:
            process = subprocess.Popen(
                ["bash", "-c", command], cwd=self.project, env=self.environ, stdout=output, stderr=output
            )
        try:
            eventually(lambda: "Ctrl-C stops it" in shown.read_text(), within=60, show=shown.read_text)
            yield
            os.kill(int((self.data / "lock").read_text()), signal.SIGTERM)
            assert process.wait(30) == 0, shown.read_text()
        finally:
            process.kill()
            process.wait()

    def agents(self) -> None:
        """Let Claude Code and Codex have a session in the project."""
        samples = ROOT / "tests" / "cli" / "samples"
        encoded = re.sub(r"[^A-Za-z0-9]", "-", str(self.project))
        of_claude = self.home / ".claude" / "projects" / encoded / "7c1f.jsonl"
        (of_codex,) = samples.glob("codex/rollout-*T15-50-35-01a1e50d-*.jsonl")
        for sample, place in (
            (samples / "claude_code.jsonl", of_claude),
            (of_codex, self.home / ".codex" / "sessions" / "2026" / "11" / "16" / of_codex.name),
        ):
            place.parent.mkdir(parents=True)
            shutil.copy(sample, place)


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    return Terminal(tmp_path)


def test_the_commands_for_one_machine_work_as_written(terminal: Terminal) -> None:
    terminal.agents()
    with terminal.running(UP):
        terminal.environ |= dict(line.split("=", 1) for line in (terminal.data / "env").read_text().splitlines())
        for command in (*SEND, *LOOK):
            done = terminal.run(command, FILE="saved.db")
            assert done.returncode == 0, (command, done.stdout, done.stderr)
            if command == REQUEST:
                assert json.loads(done.stdout)["state"] == "pending"
    for command in STOPPED:
        done = terminal.run(command, FILE="saved.db")
        assert done.returncode == 0, (command, done.stdout, done.stderr)


@pytest.mark.parametrize("commands", [*([start] for start in OTHER_STARTS), OF_WHATSAPP], ids=lambda typed: typed[-1])
def test_it_can_be_started_as_written(terminal: Terminal, commands: list[str]) -> None:
    with terminal.running("\n".join(commands).replace(":8787", ":0")):
        assert "Ready in" in (terminal.home / "output").read_text()


@pytest.mark.parametrize("command", WITHOUT_CREDENTIALS)
def test_what_needs_no_credentials_works_without_them(terminal: Terminal, command: str) -> None:
    done = terminal.run(command)
    assert (done.returncode, done.stderr) == (0, "")
    assert "dynamodb" in done.stdout.lower()


def test_a_pusher_is_set_as_written() -> None:
    _, _, typed = PUSHER.partition("set_pusher ")
    matrix = next(chat for chat in CHATS if chat.name == "matrix")
    with Simulator([matrix]) as simulator:
        given = {"<ApiUrl>": "https://service.test", "https://<homeserver>": simulator.api_url("matrix")}
        arguments = [given.get(word, word) for word in typed.split()]
        secrets = {
            variable(name): simulator.secrets[name] for name in secret_names(matrix) if name in simulator.secrets
        }
        assert set_pusher(arguments, secrets) == 0


def test_the_variables_that_are_exported_are_read() -> None:
    known = {variable(name) for chat in CHATS for name in secret_names(chat)}
    known |= {f"{chat.name.upper()}_{end}" for chat in CHATS for end in ("USER_ID", "HOME", "API_URL")}
    shown = [command for page in PAGES for command in commands(page.read_text()) if command.startswith("export ")]
    assert {name for command in shown for name in re.findall(r"([A-Z_]+)=", command)} <= known
