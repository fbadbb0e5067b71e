"""The operator's command: users, tokens, identities and homes."""

from typing import Any

import pytest

from local.operate.admin import main
from shared.domain.routes import Place
from shared.errors import Unauthenticated
from shared.ports.store import Store
from shared.use_cases.people.authenticate import authenticate
from tests.support.tables import TableNames


def test_a_new_user_has_a_token_an_account_and_a_home(
    store: Store, dynamodb: Any, tables: TableNames, capsys: pytest.CaptureFixture[str]
) -> None:
    table = ["--sessions-table", tables.sessions]

    assert main([*table, "add-user", "anna", "--telegram", "77", "--home", "telegram=77"], client=dynamodb) == 0

    token = capsys.readouterr().out.strip()
    assert authenticate(store.accounts, f"Bearer {token}") == "anna"
    assert store.accounts.user_of("telegram", "77") == "anna"
    assert store.accounts.home("anna", "telegram") == Place("telegram", "77")

    assert main([*table, "revoke-token", token], client=dynamodb) == 0
    with pytest.raises(Unauthenticated):
        authenticate(store.accounts, f"Bearer {token}")


def test_an_account_of_another_user_is_rejected(store: Store, dynamodb: Any, tables: TableNames) -> None:
    store.accounts.add_identity("anna", "slack", "U1")

    refused = main(["--sessions-table", tables.sessions, "identify", "bert", "--slack", "U1"], client=dynamodb)

    assert refused == 1
    assert store.accounts.user_of("slack", "U1") == "anna"


def test_an_error_of_aws_is_explained(dynamodb: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--sessions-table", "no-such-table", "add-user", "anna"], client=dynamodb) == 1
    said = capsys.readouterr()
    assert (said.out, "the table's name" in said.err) == ("", True)
