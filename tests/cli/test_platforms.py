"""`handoff platforms` and `handoff doctor`."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import Run
from tests.cli.test_send import without_discord
from tests.support.fault_proxy import FaultProxy

if TYPE_CHECKING:
    from tests.support.one_machine import OneMachine

UNKNOWN = {"name": "webhook", "platform": "slack", "ok": None, "detail": "Slack does not tell", "fix": "look there"}


def _checks(*checks: Any) -> Callable[[Any], None]:
    return lambda answer: answer.update(checks=list(checks))


def test_platforms_say_what_is_missing(run: Run, proxy: FaultProxy) -> None:
    proxy.fail("GET /platforms", change=without_discord)
    shown = {line.split()[0]: line for line in run("platforms").stdout.splitlines()}
    assert "home chat -1001000000001" in shown["telegram"]
    assert "handoff link slack" in shown["slack"]
    assert "not configured" in shown["discord"]
    assert "not supported" in shown["pigeon"]


def test_a_new_platform_of_the_service_is_listed(run: Run, proxy: FaultProxy) -> None:
    new = {"name": "semaphore", "supported": True, "configured": True, "home": {"chat": "1"}, "threads": False}
    proxy.fail("GET /platforms", change=lambda answer: answer["platforms"].append(new), count=2)
    assert "semaphore  ready, home chat 1" in run("platforms").stdout
    assert "semaphore" in run("completion", "platforms").stdout.split()


def test_doctor_shows_each_check_with_its_fix(run: Run, proxy: FaultProxy) -> None:
    fine = {"name": "bot", "platform": "telegram", "ok": True, "detail": "@handoff_bot is alive"}
    broken = {"name": "webhook", "platform": "telegram", "ok": False, "detail": "not set", "fix": "run make webhook"}
    proxy.fail("GET /doctor", change=_checks(fine, broken))
    done = run("doctor")
    assert done.returncode == 1
    assert "✓ telegram bot: @handoff_bot is alive" in done.stdout
    assert "fix: run make webhook" in done.stdout
    assert "✓ clock" in done.stdout


def test_doctor_passes_for_the_seeded_owner(run: Run, service: "OneMachine") -> None:
    done = run("doctor", "--json", HANDOFF_TOKEN=service.tokens["owner"])
    assert (done.returncode, json.loads(done.stdout)["ok"]) == (0, True)


def test_a_check_without_a_result_is_not_a_failure(run: Run, proxy: FaultProxy) -> None:
    proxy.fail("GET /doctor", change=_checks(UNKNOWN), count=2)
    shown, told = run("doctor"), run("doctor", "--json")
    assert (shown.returncode, told.returncode) == (0, 0)
    assert "? slack webhook: Slack does not tell" in shown.stdout
    assert "see: look there" in shown.stdout
    assert json.loads(told.stdout)["checks"][-1]["ok"] is None


def test_a_result_that_is_no_boolean_counts_as_unknown(run: Run, proxy: FaultProxy) -> None:
    proxy.fail("GET /doctor", change=_checks({**UNKNOWN, "ok": "maybe"}))
    assert "? slack webhook" in run("doctor").stdout


def test_doctor_tells_an_outage_from_a_wrong_token(run: Run) -> None:
    assert run("doctor", HANDOFF_URL="http://127.0.0.1:1").returncode == 4
    wrong = run("doctor", "--token", "nonsense")
    assert (wrong.returncode, "✗ token" in wrong.stdout) == (1, True)


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("import wave; wave.open(__import__('sys').argv[1])", "✓ voice: "),
        ("print(x)", "a second of silence: the transcriber failed\n    fix: mend the program, or `voice` in "),
    ],
)
def test_doctor_tries_the_program_of_this_machine(run: Run, tmp_path: Path, code: str, shown: str) -> None:
    settings = tmp_path / "config" / "handoff" / "runner.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f"voice = {json.dumps([sys.executable, '-c', code])}\n")
    assert shown in run("doctor", XDG_CONFIG_HOME=str(tmp_path / "config")).stdout
