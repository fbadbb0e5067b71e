"""The environment that the template writes is the one that the code reads."""

import dataclasses
import re
from pathlib import Path
from typing import Any

from local.cloud.stack import Stack
from shared import settings as settings_module
from shared.settings import Settings


def test_template_and_settings_have_the_same_variables(stack: Stack) -> None:
    source = Path(settings_module.__file__).read_text()
    read = set(re.findall(r'"([A-Z]+(?:_[A-Z]+)+)"', source)) - {"AWS_LAMBDA_INITIALIZATION_TYPE"}  # Lambda's own
    written = {name for function in stack.functions.values() for name in function.environment}
    assert written == read


def test_the_defaults_of_template_and_settings_agree(translated: dict[str, Any], stack: Stack) -> None:
    defaults = {name: str(parameter["Default"]) for name, parameter in translated["Parameters"].items()}
    references = {
        name: value["Ref"]
        for resource in translated["Resources"].values()
        if resource["Type"] == "AWS::Lambda::Function"
        for name, value in resource["Properties"]["Environment"]["Variables"].items()
    }
    environment = {name: defaults.get(reference, name) for name, reference in references.items()}
    read = Settings.from_environment(environment)
    named = {
        name: getattr(read, name)
        for name in ("dead_turns_queue_url", "runs_queue_url", "files_bucket", "metrics_stack")
    }
    plain = Settings(read.handoffs_table, read.sessions_table, read.turns_queue_url, **named)
    assert dataclasses.asdict(read) == dataclasses.asdict(plain)


def test_parameters_reach_the_functions(stack: Stack) -> None:
    for function in stack.functions.values():
        assert function.environment["PLATFORM_URLS"] == '{"telegram": {"api": "http://127.0.0.1:1/bot"}}'
        assert function.environment["HANDOFF_DEADLINE_SECONDS"] == "60"
        assert function.environment["HANDOFFS_TABLE"] == stack.resources["HandoffsTable"]
        assert function.environment["TURNS_QUEUE_URL"] == stack.resources["TurnsQueue"]
        assert function.environment["RUNS_QUEUE_URL"] == stack.resources["RunsQueue"]


def test_only_sweep_knows_the_dead_letters(stack: Stack) -> None:
    knowing = {f.logical_id for f in stack.functions.values() if "DEAD_TURNS_QUEUE_URL" in f.environment}
    assert knowing == {"SweepFunction"}


def test_functions_run_on_arm_with_python_3_13(resources: dict[str, Any]) -> None:
    functions = [r["Properties"] for r in resources.values() if r["Type"] == "AWS::Lambda::Function"]
    assert len(functions) == 7
    for function in functions:
        assert function["Architectures"] == ["arm64"]
        assert function["Runtime"] == "python3.13"


def test_logs_expire(resources: dict[str, Any]) -> None:
    groups = {name for name, r in resources.items() if r["Type"] == "AWS::Logs::LogGroup"}
    for resource in resources.values():
        if resource["Type"] == "AWS::Lambda::Function":
            assert resource["Properties"]["LoggingConfig"]["LogGroup"]["Ref"] in groups
    for name in groups:
        assert resources[name]["Properties"]["RetentionInDays"] == {"Ref": "LogRetentionDays"}


def test_functions_log_json(stack: Stack) -> None:
    assert {function.log_format for function in stack.functions.values()} == {"JSON"}
