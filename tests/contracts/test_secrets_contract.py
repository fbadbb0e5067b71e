"""What the Secrets port promises, on SSM, SQLite and the fake."""

import itertools
from collections.abc import Iterator

import pytest

from shared.aws.secrets import SsmSecrets, parameter_of
from shared.ports.secrets import Secrets
from shared.sqlite.secrets import SqliteSecrets
from tests.support.secrets import FakeSecrets
from tests.support.table_backends import new_database

NUMBERS = itertools.count()
VALUES = {"telegram/bot_token": "123:abc", "agent/key": " ünïcode key "}


@pytest.fixture(params=["ssm", "sqlite", "fake"])
def secrets(request: pytest.FixtureRequest) -> Iterator[Secrets]:
    if request.param == "fake":
        yield FakeSecrets(VALUES)
        return
    if request.param == "sqlite":
        with new_database() as database:
            sqlite = SqliteSecrets(database)
            for name, value in VALUES.items():
                sqlite.set(name, value)
            yield sqlite
        return
    client, prefix = request.getfixturevalue("engine").client("ssm"), f"/secrets-contract-{next(NUMBERS)}"
    for name, value in VALUES.items():
        client.put_parameter(Name=parameter_of(prefix, name), Value=value, Type="SecureString")
    yield SsmSecrets(client, prefix)


@pytest.mark.parametrize("name", VALUES)
def test_a_secret_is_returned_unchanged(secrets: Secrets, name: str) -> None:
    assert [secrets.get(name), secrets.get(name)] == [VALUES[name]] * 2


@pytest.mark.parametrize("name", ["telegram", "bot_token", "telegram/bot_token/", "slack/bot_token", ""])
def test_an_unset_secret_is_none(secrets: Secrets, name: str) -> None:
    assert secrets.get(name) is None
