"""The template, translated and deployed to an engine of the test module."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from local.cloud.template import translate
from local.paths import TEMPLATE, TRANSLATED

if TYPE_CHECKING:
    from local.cloud.engine import Engine
    from local.cloud.stack import Stack


@pytest.fixture(scope="session")
def translated() -> dict[str, Any]:
    """template.yaml as CloudFormation."""
    return translate(TEMPLATE.read_text(), "us-east-1", cache=TRANSLATED)


@pytest.fixture(scope="session")
def resources(translated: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = translated["Resources"]
    return found


@pytest.fixture(scope="module")
def cloud() -> "Iterator[Engine]":
    """A local cloud for one deploy."""
    from local.cloud.engine import Engine  # noqa: PLC0415 - moto takes long to import

    engine = Engine.start()
    yield engine
    engine.stop()


@pytest.fixture(scope="module")
def stack(cloud: "Engine") -> "Stack":
    from local.cloud.deploy import deploy  # noqa: PLC0415 - moto takes long to import

    parameters = {"PlatformUrls": '{"telegram": {"api": "http://127.0.0.1:1/bot"}}', "DeadlineSeconds": "60"}
    return deploy(cloud, TEMPLATE, parameters, name="tested", cache=TRANSLATED)
