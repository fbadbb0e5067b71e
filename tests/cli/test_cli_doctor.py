"""`handoff doctor`, where nobody could find out."""

import json

from tests.cli.conftest import Run
from tests.cli.stub_service import StubService

UNSEEN = {"name": "webhook", "platform": "slack", "ok": None, "detail": "Slack does not tell", "fix": "look there"}


def test_what_nobody_could_find_out_is_shown_and_is_no_fault(run: Run, stub: StubService) -> None:
    stub.state.script.checks = [UNSEEN]

    shown, told = run("doctor"), run("doctor", "--json")

    assert (shown.returncode, told.returncode) == (0, 0)
    assert "? slack webhook: Slack does not tell" in shown.stdout
    assert "see: look there" in shown.stdout
    assert json.loads(told.stdout)["checks"][-1]["ok"] is None


def test_a_verdict_that_is_none_is_not_taken_for_good(run: Run, stub: StubService) -> None:
    stub.state.script.checks = [{**UNSEEN, "ok": "maybe"}]

    assert "? slack webhook" in run("doctor").stdout
