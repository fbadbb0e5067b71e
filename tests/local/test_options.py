"""Errors in the settings of a local run are reported before the start."""

import pytest

from local.options import faults

HTTP = {"HANDOFF_AGENT": "http", "HANDOFF_AGENT_URL": "http://127.0.0.1:8790/", "HANDOFF_AGENT_KEY": "k"}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"HANDOFF_AGENT": ""},
        HTTP,
        {"HANDOFF_AGENT": "openai", "HANDOFF_AGENT_MODEL": "m", "HANDOFF_AGENT_WINDOW": "8192"},
        {"HANDOFF_REHEARSAL_SECONDS": "3"},
    ],
)
def test_valid_settings_have_no_faults(settings: dict[str, str]) -> None:
    assert list(faults(settings)) == []


@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        ({"HANDOFF_AGENT": "bedrock"}, "only in a deployment"),
        ({"HANDOFF_AGENT": "claude"}, "is not a known agent. Choose one of: rehearsal, openai, http."),
        ({"HANDOFF_AGENT": "openai"}, "needs HANDOFF_AGENT_MODEL"),
        ({**HTTP, "HANDOFF_AGENT_KEY": ""}, "needs HANDOFF_AGENT_KEY"),
        ({**HTTP, "HANDOFF_AGENT_URL": "127.0.0.1:8790"}, "must begin with http://"),
        ({"HANDOFF_AGENT_WINDOW": "8k"}, "HANDOFF_AGENT_WINDOW=8k is not a whole number."),
        ({"HANDOFF_DEADLINE_SECONDS": "-1"}, "not a whole number"),
    ],
)
def test_each_fault_is_reported_with_advice(settings: dict[str, str], advice: str) -> None:
    (fault,) = faults(settings)
    assert advice in fault
