"""Clients that are created on first use."""

import subprocess
import sys
from pathlib import Path

import pytest

from shared.aws.clients import LazyClient

ROOT = Path(__file__).resolve().parents[3]


def test_a_lazy_client_imports_boto3_only_when_used() -> None:
    program = (
        "import sys; from shared.aws.clients import LazyClient; client = LazyClient('dynamodb');"
        "sys.exit('boto3' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False, timeout=60).returncode == 0


def test_a_lazy_client_is_created_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "AWS_DEFAULT_REGION": "eu-west-1",
    }.items():
        monkeypatch.setenv(name, value)
    client = LazyClient("dynamodb", endpoint_url="http://127.0.0.1:1")
    assert client.meta is client.meta
    assert client.meta.endpoint_url == "http://127.0.0.1:1"


def test_an_unknown_operation_is_an_attribute_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    with pytest.raises(AttributeError):
        _ = LazyClient("dynamodb").no_such_operation
