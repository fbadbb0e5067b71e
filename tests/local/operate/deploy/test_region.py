"""The region and the account: which one is taken, and that it is shown before anything is done."""

from collections.abc import Callable
from pathlib import Path

import pytest

from local.operate import admin, data, set_up
from local.operate.deploy import program
from local.operate.deploy.aws import Account
from local.operate.deploy.problems import Stopped
from tests.local.operate.deploy.conftest import Operator
from tests.support.emulated_aws import EmulatedAws
from tests.support.fake_cloudformation import error

Said = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "config"
    file.write_text("[default]\nregion = eu-west-3\n[profile bare]\noutput = json\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(file))
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("given", "variables", "region"),
    [
        ("eu-west-1", {"AWS_REGION": "eu-central-1", "AWS_DEFAULT_REGION": "us-east-1"}, "eu-west-1"),
        (None, {"AWS_REGION": "eu-central-1", "AWS_DEFAULT_REGION": "us-east-1"}, "eu-central-1"),
        (None, {"AWS_REGION": "", "AWS_DEFAULT_REGION": "us-east-1"}, "us-east-1"),
        (None, {"AWS_DEFAULT_REGION": "us-east-1"}, "us-east-1"),
        (None, {"AWS_REGION": "eu-central-1"}, "eu-central-1"),
        (None, {}, "eu-west-3"),
    ],
)
def test_aws_region_comes_before_the_default_region_and_the_profile(
    monkeypatch: pytest.MonkeyPatch, given: str | None, variables: dict[str, str], region: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert Account.of(profile=None, region=given).region == region


def test_without_a_region_it_is_said_how_to_set_one() -> None:
    with pytest.raises(Stopped, match=r"add --region.* or set AWS_REGION"):
        _ = Account.of(profile="bare", region=None).region


def test_a_dry_run_finds_the_stack_that_is_there(
    operator: Operator, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    assert operator.deploy() == 0
    capsys.readouterr()
    assert operator.run("apply", "--dry-run", "--version=1.0") == 0
    said = capsys.readouterr().out
    assert "region us-east-1" in said
    assert "The stack handoff is there: CREATE_COMPLETE." in said
    assert "0 added" in said
    assert operator.result["changes"] == []


@pytest.mark.parametrize("why", ["ExpiredToken", "AccessDenied"])
def test_a_dry_run_that_may_not_look_plans_no_new_stack(
    operator: Operator, aws: EmulatedAws, capsys: Said, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    aws.formation.faults = [lambda _: error(why, "no", 403)]
    assert operator.run("apply", "--dry-run") == 1
    said = capsys.readouterr()
    assert "Plan:" not in said.out
    assert "repeat the command" in said.err


FILE = "/nonexistent/file"
PROGRAMS: dict[str, Callable[[], int]] = {
    "deploy": lambda: program.main(["apply"], sleep=lambda _: None),
    "deploy --dry-run": lambda: program.main(["apply", "--dry-run"]),
    "destroy": lambda: program.main(["destroy"]),
    "data export": lambda: data.main(["export", FILE, "--stack=handoff"]),
    "data import": lambda: data.main(["import", FILE, "--stack=handoff"]),
    "setup": lambda: set_up.main(["telegram", "--stack=handoff"]),
    "users": lambda: admin.main(["--sessions-table=none", "users"]),
}


@pytest.mark.parametrize("command", PROGRAMS)
def test_the_account_and_the_region_are_shown_first(
    operator: Operator, aws: EmulatedAws, capsys: Said, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Every call to CloudFormation is refused, so that nothing else can be said before."""
    assert operator
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    aws.formation.faults = [lambda _: error("AccessDenied", "no", 403)]
    assert PROGRAMS[command]() == 1
    said = capsys.readouterr()
    first = (said.out + said.err).splitlines()[0]
    assert first.startswith(f"Account {aws.formation.account}, region eu-central-1 (AWS_DEFAULT_REGION is us-east-1)")
