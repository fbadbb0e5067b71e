"""Each command that calls AWS, under each condition: it ends with a sentence that says what to do, never in a traceback."""

import io
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest

from local.operate import admin, data, set_up
from local.operate.deploy import template
from local.operate.deploy.apply import Deploy
from local.operate.deploy.aws import Account
from local.operate.deploy.checks import checks
from local.operate.deploy.console import Talk
from local.operate.deploy.destroy import Destroy
from local.operate.deploy.owner import deployed
from local.operate.deploy.problems import Stopped, explained
from local.operate.deploy.program import dry_run, main
from local.operate.deploy.settings import Settings
from tests.local.operate.deploy.conftest import allowing, role_with, zip_of
from tests.support.emulated_aws import EmulatedAws
from tests.support.fake_cloudformation import FakeStack, error
from tests.support.servers import Response

Said = pytest.CaptureFixture[str]
STATES = (
    *("CREATE_COMPLETE", "CREATE_FAILED", "CREATE_IN_PROGRESS", "REVIEW_IN_PROGRESS"),
    *("ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "ROLLBACK_IN_PROGRESS"),
    *("UPDATE_COMPLETE", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "UPDATE_FAILED", "UPDATE_IN_PROGRESS"),
    *("UPDATE_ROLLBACK_COMPLETE", "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS", "UPDATE_ROLLBACK_FAILED"),
    "UPDATE_ROLLBACK_IN_PROGRESS",
    *("DELETE_COMPLETE", "DELETE_FAILED", "DELETE_IN_PROGRESS"),
    *("IMPORT_COMPLETE", "IMPORT_IN_PROGRESS", "IMPORT_ROLLBACK_COMPLETE", "IMPORT_ROLLBACK_FAILED"),
    "IMPORT_ROLLBACK_IN_PROGRESS",
)
"""All states of a stack that CloudFormation documents."""
AFTER = re.compile(r"(_COMPLETE_CLEANUP)?_IN_PROGRESS$")
WHAT_TO_DO = re.compile(r"handoff (deploy|destroy)|[Rr]epeat|--(region|stack|profile|yes)\b|Sign in")
FILE = "export.gz"


def run(*arguments: str) -> Callable[[], int]:
    return lambda: main([*arguments], sleep=lambda _: None)


def doctor() -> int:
    """With all that it tells the program which has started it."""
    file = Path("result.json")
    code = main(["check", f"--result-fd={os.open(file, os.O_CREAT | os.O_WRONLY)}"], sleep=lambda _: None)
    print(file.read_text())  # noqa: T201
    return code


COMMANDS: dict[str, Callable[[], int]] = {
    "deploy": run("apply", "--bundle=bundle.zip"),
    "deploy --secret": run("apply", "--bundle=bundle.zip", "--secret=agent/key"),
    "deploy --dry-run": run("apply", "--dry-run"),
    "deploy --policy": run("apply", "--policy"),
    "destroy": run("destroy"),
    "destroy --delete-data": run("destroy", "--delete-data"),
    "doctor": doctor,
    "data export": lambda: data.main(["export", FILE, "--stack=handoff"]),
    "data import": lambda: data.main(["import", FILE, "--stack=handoff"]),
    "setup": lambda: set_up.main(["telegram", "--stack=handoff"]),
    "users": lambda: admin.main(["--sessions-table=handoff-sessions", "users"]),
}


@pytest.fixture(scope="module")
def aws() -> Iterator[EmulatedAws]:
    with EmulatedAws() as account:
        yield account


@pytest.fixture(autouse=True)
def _terminal(aws: EmulatedAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A terminal in an account without a stack. Faults end with their test: fixtures of the module are made before this one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO("x\n"))
    Path("bundle.zip").write_bytes(zip_of("code"))
    for name in ("AWS_REGION", "AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name, value in aws.environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    aws.formation.stacks.clear()
    aws.formation.change_sets.clear()
    aws.formation.asked.clear()
    yield
    aws.formation.faults = []


def check(command: str, capsys: Said) -> str:
    """Run it, and return all that it said."""
    code = COMMANDS[command]()
    said = capsys.readouterr()
    assert code == 0 or WHAT_TO_DO.search(said.err), said.err
    return said.out + said.err


@pytest.mark.parametrize("command", COMMANDS)
def test_without_a_region(command: str, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    said = check(command, capsys)
    expected = {"deploy --dry-run": "Without AWS region", "deploy --policy": ":REGION:"}
    assert expected.get(command, "No region is set: add --region") in said


@pytest.mark.parametrize("command", COMMANDS)
def test_with_two_regions(command: str, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    said = check(command, capsys)
    expected = {"deploy --policy": ":eu-central-1:"}
    assert expected.get(command, "region eu-central-1 (AWS_DEFAULT_REGION is us-east-1)") in said


@pytest.mark.parametrize("command", COMMANDS)
def test_without_credentials(command: str, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    said = check(command, capsys)
    expected = {"deploy --dry-run": "Without AWS credentials", "deploy --policy": ":ACCOUNT:"}
    assert expected.get(command, "There are no usable AWS credentials") in said


@pytest.mark.parametrize("command", COMMANDS)
def test_with_too_few_rights(command: str, aws: EmulatedAws, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    role_with(aws, monkeypatch, allowing("sts:GetCallerIdentity"))
    aws.formation.faults = [lambda _: error("AccessDenied", "You may not", 403)]
    said = check(command, capsys)
    assert "`handoff deploy --policy` prints the rights" in said or command == "deploy --policy"


# --- the state of the stack: the parts behind the commands, with clients that are made once


@pytest.fixture(scope="module")
def account(aws: EmulatedAws) -> Account:
    engine = aws.cloud.engine
    session = boto3.session.Session(engine.admin.access_key, engine.admin.secret_key, region_name="us-east-1")
    return Account(Emulated(session, {"cloudformation": aws.formation.url}, engine.url))


@dataclass
class Emulated:
    """A session whose clients call this account."""

    session: Any
    urls: Mapping[str, str]
    url: str
    region_name = "us-east-1"

    def client(self, service: str, **more: Any) -> Any:
        return self.session.client(service, endpoint_url=self.urls.get(service, self.url), **more)

    def get_credentials(self) -> Any:
        return self.session.get_credentials()


@pytest.fixture(scope="module")
def outputs(account: Account, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Those of a stack whose tables exist."""
    bundle = tmp_path_factory.mktemp("bundle") / "bundle.zip"
    bundle.write_bytes(zip_of("code"))
    stack, _ = Deploy(account, SETTINGS, Talk(yes=True, sleep=lambda _: None), "1", lambda: bundle).run()
    return stack.outputs


SETTINGS, TALK = Settings("handoff"), Talk(sleep=lambda _: None)
PARTS: dict[str, Callable[[Account], Any]] = {
    "deploy": lambda account: Deploy(account, SETTINGS, TALK, "1", lambda: Path("bundle.zip")).run(),
    "deploy --dry-run": lambda account: dry_run(SETTINGS, account, TALK),
    "destroy": lambda account: Destroy(account, SETTINGS, TALK, delete_data=True).run(),
    "doctor": lambda account: list(checks(account, SETTINGS, version="1")),
    "data and setup": lambda account: deployed(account, SETTINGS),
}


def outcome(part: str, account: Account) -> tuple[Any, str | None]:
    """What it returned, or the sentence with which it ended."""
    try:
        with explained(""):
            return PARTS[part](account), None
    except Stopped as stopped:
        return None, str(stopped)


@pytest.mark.parametrize("status", STATES)
@pytest.mark.parametrize("part", PARTS)
def test_in_each_state_of_the_stack(
    part: str, status: str, aws: EmulatedAws, account: Account, outputs: dict[str, str]
) -> None:
    """An operation under way comes to its end at the first look at its events."""
    has_served = not status.startswith(("CREATE_F", "CREATE_I", "REVIEW", "ROLLBACK"))
    stack = FakeStack(
        "handoff",
        f"arn:aws:cloudformation:us-east-1:{aws.formation.account}:stack/handoff/1",
        status,
        template.load(),
        parameters={"SecretsPrefix": "/handoff"},
        outputs=outputs if has_served else {},
    )
    aws.formation.stacks[stack.id] = stack

    def settle(action: str) -> Response | None:
        if action == "DescribeStackEvents" and stack.work is None and status != "REVIEW_IN_PROGRESS":
            stack.status = AFTER.sub("_COMPLETE", stack.status)
        return None

    aws.formation.faults = [settle]
    found, stopped = outcome(part, account)
    assert stopped is None or WHAT_TO_DO.search(stopped)
    assert stopped or part in ("deploy --dry-run", "doctor", "data and setup"), "nobody has agreed"
    assert part != "doctor" or all(one["ok"] or WHAT_TO_DO.search(one["fix"]) for one in found)
    assert "ExecuteChangeSet" not in aws.formation.asked
    assert part == "deploy" or "DeleteStack" not in aws.formation.asked
