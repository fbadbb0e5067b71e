"""In the terminal: who will answer, how to go on, the list of runners, and why `run` cannot start."""

import io
import json
import re
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from handoff_cli.context import Context
from handoff_cli.errors import Refused, UsageProblem
from handoff_cli.runner.answerer import Answerer, choose_answerer
from handoff_cli.runner.machine.files import state_directory
from handoff_cli.runner.machine.identity import identify, known_identity
from handoff_cli.runner.machine.locks import session_lock
from handoff_cli.runner.machine.sessions import HandedOver, Sessions
from handoff_cli.runner.settings import Settings, read_settings
from handoff_cli.runner.way_back import wait_for_agent
from handoff_cli.transcripts.messages import Transcript
from handoff_cli.ui.terminal import Terminal
from tests.cli.conftest import Run, User
from tests.support.waiting import eventually

CLAUDE = Transcript([{"role": "user", "content": "hi"}], source="claude-code", cwd="/src/project", native_id="n-1")


class Desk:
    """A terminal on a machine, and a service that knows runners."""

    def __init__(self, home: Path, user: User) -> None:
        self.environ = {"HOME": str(home)}
        self.state = state_directory(self.environ)
        self.api = user.api

    def context(self, **args: Any) -> Context:
        output = io.StringIO()
        terminal = Terminal(output, output, io.StringIO(), environ={})
        given = Namespace(**{"native": None, "runner": None, **args})
        return Context(args=given, terminal=terminal, environ=self.environ, directory=Path("/elsewhere"))

    def answerer(self, transcript: Transcript = CLAUDE, **args: Any) -> Answerer:
        return choose_answerer(self.context(**args), self.api, transcript, "s-1")

    def runner(self, *agents: str) -> str:
        """A runner of this machine that is on."""
        identity = identify(self.state, "laptop")
        listed = [{"name": name, "version": "1"} for name in agents]
        self.api.call(
            "PUT", f"/runners/{identity.id}", {"name": "laptop", "version": "1", "protocol": 1, "agents": listed}
        )
        return identity.id


@pytest.fixture
def desk(tmp_path: Path, user: User) -> Desk:
    return Desk(tmp_path, user)


def test_without_a_runner_the_model_answers(desk: Desk) -> None:
    found = desk.answerer()
    assert found == Answerer(
        None, "In the thread the deployment's model answers. To let your Claude Code answer: handoff run", "s-1"
    )
    assert list(Sessions(desk.state).all()) == []


def test_with_a_runner_the_users_agent_answers(desk: Desk) -> None:
    runner = desk.runner("claude-code")
    found = desk.answerer()
    assert found.runs_on == {"runner": runner, "agent": "claude-code", "native_id": "n-1"}
    assert "your own Claude Code on this machine answers (runner “laptop”)" in found.sentence
    assert list(Sessions(desk.state).all()) == [
        HandedOver(found.session_id, "claude-code", "n-1", "/src/project", desk.api.configuration.url)
    ]


def test_a_session_of_an_agent_keeps_its_session_at_the_service(desk: Desk, user: User) -> None:
    desk.runner("claude-code")
    first = desk.answerer()
    assert (first.session_id, first.is_known) == (desk.answerer().session_id, False)  # nothing was stored yet
    desk.api.put_session(first.session_id, {"runs_on": first.runs_on})
    again = desk.answerer()
    assert (again.session_id, again.is_known) == (first.session_id, True)
    user.request_handoff(first.session_id)
    link = str(eventually(lambda: desk.api.session(first.session_id)["link"]))
    for runner in (None, True, False):
        with pytest.raises(Refused, match=re.escape(link)):
            desk.answerer(runner=runner)


def test_the_user_may_choose_the_model(desk: Desk) -> None:
    desk.runner("claude-code")
    assert desk.answerer(runner=False) == Answerer(None, "In the thread the deployment's model answers.", "s-1")


@pytest.mark.parametrize(
    ("transcript", "said"),
    [
        (CLAUDE, "does not run claude-code"),
        (Transcript([], source="openai"), "--runner needs a session of your agent"),
    ],
)
def test_asking_for_a_runner_that_cannot_answer_is_refused(desk: Desk, transcript: Transcript, said: str) -> None:
    desk.runner("codex")
    with pytest.raises(UsageProblem, match=said):
        desk.answerer(transcript, runner=True)


def test_a_runner_that_was_revoked_does_not_answer(desk: Desk) -> None:
    desk.api.revoke_runner(desk.runner("claude-code"))
    assert desk.answerer().runs_on is None


def test_a_session_of_any_acp_agent_is_named_by_its_id(desk: Desk) -> None:
    desk.runner("acp")
    found = desk.answerer(Transcript([], source=None), native="their-id")
    assert found.runs_on
    assert found.runs_on["native_id"] == "their-id"


def test_other_transcripts_say_nothing_about_it(desk: Desk) -> None:
    assert desk.answerer(Transcript([], source="openai")) == Answerer(None, "", "s-1")


def test_the_way_back_is_the_agents_own_command(desk: Desk) -> None:
    Sessions(desk.state).add(HandedOver("s-1", "claude-code", "n-1", "/src/a b", "https://x.example"))
    context = desk.context()
    way = wait_for_agent(context, "s-1")
    assert way
    way.show(context)
    assert "Continue with: cd '/src/a b' && claude --resume n-1" in context.terminal.stdout.getvalue()  # type: ignore[attr-defined]
    assert "type: /resume n-1" in context.terminal.stdout.getvalue()  # type: ignore[attr-defined]
    assert wait_for_agent(context, "s-2") is None


def test_the_way_back_waits_for_the_agent_but_not_forever(desk: Desk) -> None:
    Sessions(desk.state).add(HandedOver("s-1", "codex", "n-1", "/src", "https://x.example"))
    now = [0.0]
    waiting = desk.context()
    context = Context(
        args=waiting.args,
        terminal=waiting.terminal,
        environ=waiting.environ,
        directory=waiting.directory,
        clock=lambda: now[0],
        sleep=lambda seconds: now.__setitem__(0, now[0] + seconds),
    )
    with session_lock(desk.state, "codex", "n-1") as lock:
        assert lock.acquire()
        way = wait_for_agent(context, "s-1")
        assert way
        assert not way.is_free
        assert 39 < now[0] < 41


def test_resume_prints_the_native_command(run: Run, user: User, environ: dict[str, str]) -> None:
    session = user.session("Parser", [{"role": "user", "content": "hi"}])
    directory = Path(environ["HOME"])
    Sessions(state_directory(environ)).add(
        HandedOver(session, "codex", "thread-9", str(directory), "https://x.example")
    )
    done = run("resume", session)
    assert done.returncode == 0, done.stderr
    assert f"Continue with: cd {directory} && codex resume thread-9" in done.stdout
    assert json.loads(run("resume", session, "--json").stdout)["continue_with"] == ["codex", "resume", "thread-9"]


def test_runners_are_listed_and_revoked(desk: Desk, run: Run) -> None:
    assert "No runners yet" in run("runners").stdout
    runner = desk.runner("claude-code", "codex")
    listed = run("runners", "list")
    assert f"{runner[:12]}  laptop  online  claude-code, codex" in listed.stdout
    revoked = run("runners", "revoke", runner[:6])
    assert revoked.returncode == 0, revoked.stderr
    assert [one["revoked"] for one in desk.api.runners()] == [True]


def test_without_a_usable_agent_it_says_what_to_install(run_alone: Run, tmp_path: Path) -> None:
    done = run_alone("run", "--url", "http://127.0.0.1:9", PATH=str(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("handoff: Claude Code is not installed (claude). Run: npm install -g ")


def test_an_agent_that_exists_but_lacks_something_is_named_first(run_alone: Run, tmp_path: Path) -> None:
    program = tmp_path / "codex"
    program.write_text("#!/bin/sh\necho codex-cli 0.166.0\n")
    program.chmod(0o755)
    done = run_alone("run", "--url", "http://127.0.0.1:9", PATH=str(tmp_path))
    assert "Codex needs node 22 or newer" in done.stderr


def test_an_unknown_agent_is_a_wrong_usage(run_alone: Run) -> None:
    assert run_alone("run", "--url", "http://127.0.0.1:9", "--agent", "emacs").returncode == 2


def test_the_id_of_the_machine_is_kept_and_the_name_may_change(tmp_path: Path) -> None:
    first = identify(tmp_path / "state")
    again = identify(tmp_path / "state", "workstation")
    assert (again.id, again.name) == (first.id, "workstation")
    assert known_identity(tmp_path / "state") == again
    assert (tmp_path / "state" / "runner.json").stat().st_mode & 0o077 == 0


def test_settings_have_defaults_and_are_checked(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    assert read_settings(environ) == Settings()
    path = tmp_path / ".config" / "handoff" / "runner.toml"
    path.parent.mkdir(parents=True)
    path.write_text('allow_always = true\nparallel = 2\nagents.acp = ["my-agent", "--acp"]\n')
    assert read_settings(environ) == Settings(True, 2, commands={"acp": ("my-agent", "--acp")})
    path.write_text('[agents.mine]\ncommand = ["my-agent"]\nunattended = true\n[agents.opencode]\nunattended = true\n')
    assert read_settings(environ) == Settings(
        commands={"mine": ("my-agent",)}, unattended=frozenset({"mine", "opencode"})
    )


@pytest.mark.parametrize(
    "text",
    [
        *("allow_always = 1", "parallel = 0", "parallel = true", "agents = 3", 'agents.x = "a b"', "colour = 1", "["),
        *("agents.x.unattended = 1", "agents.x.unatended = true", 'agents.x.command = "a b"'),
    ],
)
def test_a_wrong_setting_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / ".config" / "handoff" / "runner.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(UsageProblem, match=r"runner\.toml"):
        read_settings({"HOME": str(tmp_path)})


def _settings(environ: dict[str, str], text: str) -> None:
    path = Path(environ["HOME"]) / ".config" / "handoff" / "runner.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize("agent", ["acp:sh -c true", "mine"])
def test_an_agent_of_which_nothing_is_known_needs_consent_and_the_start_says_so(
    run: Run, environ: dict[str, str], agent: str
) -> None:
    name = agent.partition(":")[0]
    command = "" if name == "acp" else 'command = ["sh", "-c", "true"]\n'
    _settings(environ, f"[agents.{name}]\n{command}")
    refused = run("run", "--once", "--agent", agent)
    assert refused.returncode == 1
    assert f"runner.toml: [agents.{name}] and below it: unattended = true" in refused.stderr

    _settings(environ, f"[agents.{name}]\n{command}unattended = true\n")
    started = run("run", "--once", "--agent", agent)
    assert started.returncode == 0, started.stderr
    assert "sh is not made to ask before each step (unattended = true in runner.toml)" in started.stderr
