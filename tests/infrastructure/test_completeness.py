"""Every resource of the template is used, and every type is emulated."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from local.cloud.deploy import deploy
from local.cloud.engine import Engine
from local.cloud.template import IN_LOCAL, IN_MOTO, OBSERVERS, UnknownResourceError, refuse_unknown
from local.paths import TEMPLATE, TRANSLATED

# Nothing refers to these: they are the events of functions after translation.
EVENTS = {
    "AWS::Lambda::EventInvokeConfig",
    "AWS::Lambda::EventSourceMapping",
    "AWS::Lambda::Permission",
    "AWS::Scheduler::Schedule",
}


def _referenced(value: Any) -> set[str]:
    """Every logical id that something refers to."""
    text = json.dumps(value)
    found = set(re.findall(r'{"Ref": "(\w+)"}', text))
    found |= set(re.findall(r'"Fn::GetAtt": \["(\w+)"', text))
    found |= set(re.findall(r"\$\{(\w+)(?:\.\w+)?\}", text))
    return found | set(re.findall(r'"Condition": "(\w+)"', text)) | set(re.findall(r'"Fn::If": \["(\w+)"', text))


def test_every_resource_is_used_by_another(translated: dict[str, Any]) -> None:
    resources = translated["Resources"]
    used = {name for resource in resources.values() for name in _referenced(resource)}
    idle = {name for name, r in resources.items() if r["Type"] not in EVENTS | OBSERVERS and name not in used}
    assert idle == {"ApiApiGatewayDefaultStage", "FilesBucketPolicy"}  # they refer to the API and to the bucket


def test_every_parameter_and_condition_is_used(translated: dict[str, Any]) -> None:
    used = _referenced({key: translated[key] for key in ("Resources", "Outputs", "Conditions", "Rules")})
    assert set(translated["Parameters"]) | set(translated["Conditions"]) <= used


def test_exactly_the_types_of_the_template_are_emulated(translated: dict[str, Any]) -> None:
    used = {resource["Type"] for resource in translated["Resources"].values()}
    assert used == IN_MOTO | set(IN_LOCAL) | OBSERVERS


def test_an_unknown_type_stops_the_start(engine: Engine, tmp_path: Path) -> None:
    before = engine.client("dynamodb").list_tables()["TableNames"]
    path = tmp_path / "template.yaml"
    topic = "  Uploads:\n    Type: AWS::EFS::FileSystem\n\nOutputs:\n"
    path.write_text(TEMPLATE.read_text().replace("Outputs:\n", topic))
    with pytest.raises(UnknownResourceError) as caught:
        deploy(engine, path, {}, name="unknown")
    assert "Uploads" in str(caught.value)
    assert "AWS::EFS::FileSystem" in str(caught.value)
    assert engine.client("dynamodb").list_tables()["TableNames"] == before


def test_the_template_is_accepted(translated: dict[str, Any]) -> None:
    refuse_unknown(translated)


def test_a_public_address_becomes_the_output(engine: Engine) -> None:
    stack = deploy(engine, TEMPLATE, {"PublicUrl": "http://127.0.0.1:8787"}, name="public", cache=TRANSLATED)
    assert stack.outputs["ApiUrl"] == "http://127.0.0.1:8787"
    assert set(stack.outputs) >= {"HandoffsTableName", "SessionsTableName", "TurnsQueueUrl", "SecretsPrefix"}
