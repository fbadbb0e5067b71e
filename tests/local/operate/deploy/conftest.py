"""An account on loopback, and the program at a terminal that is signed in to it."""

import io
import json
import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from local.operate.deploy.program import main
from tests.support.emulated_aws import EmulatedAws


@pytest.fixture
def aws() -> Iterator[EmulatedAws]:
    with EmulatedAws() as account:
        yield account


@dataclass
class Operator:
    """Runs the program and keeps what it passed to the CLI."""

    bundle: Path
    result: dict[str, Any]

    def run(self, *arguments: str) -> int:
        reading, writing = os.pipe()
        code = main([*arguments, f"--result-fd={writing}"], sleep=lambda _: None)
        with os.fdopen(reading) as pipe:
            text = pipe.read()
        self.result = json.loads(text) if text else {}
        return code

    def deploy(self, *arguments: str) -> int:
        return self.run("apply", "--yes", "--version=1.0", f"--bundle={self.bundle}", *arguments)

    def code(self, text: str) -> None:
        """Another version of the code."""
        self.bundle.write_bytes(zip_of(text))


def role_with(aws: EmulatedAws, monkeypatch: pytest.MonkeyPatch, policy: dict[str, Any]) -> str:
    """Sign in as a role with this policy, which moto enforces. Returns its ARN."""
    iam, trust = aws.client("iam"), json.dumps({"Version": "2012-10-17", "Statement": []})
    name = f"deployer-{len(iam.list_roles()['Roles'])}"
    arn = iam.create_role(RoleName=name, AssumeRolePolicyDocument=trust)["Role"]["Arn"]
    iam.put_role_policy(RoleName=name, PolicyName="its", PolicyDocument=json.dumps(policy))
    credentials = aws.cloud.engine.assume(arn)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", credentials.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", credentials.secret_key)
    monkeypatch.setenv("AWS_SESSION_TOKEN", credentials.token or "")
    return str(arn)


def allowing(*actions: str) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": list(actions), "Resource": ["*"]}]}


def zip_of(text: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(zipfile.ZipInfo("code.py"), text)
    return content.getvalue()


@pytest.fixture
def operator(aws: EmulatedAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Operator:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in aws.environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    bundle = tmp_path / "artefact.zip"
    bundle.write_bytes(zip_of("first"))
    return Operator(bundle, {})
