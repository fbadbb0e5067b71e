"""The operator's command: users, tokens, identities and homes."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from local.operate.admin import main
from shared.domain.links import Link
from shared.domain.routes import Place
from shared.errors import Unauthenticated
from shared.store.bundle import Store
from shared.use_cases.people.authenticate import authenticate
from tests.support.tables import TableNames

if TYPE_CHECKING:
    from local.cloud.engine import Engine


def test_a_new_user_has_a_token_an_account_and_a_home(
    store: Store, dynamodb: Any, tables: TableNames, capsys: pytest.CaptureFixture[str]
) -> None:
    table = ["--sessions-table", tables.sessions]

    assert main([*table, "add-user", "anna", "--telegram", "77", "--home", "telegram=77"], client=dynamodb) == 0

    token = capsys.readouterr().out.strip()
    assert authenticate(store.accounts, f"Bearer {token}", now=0).user_id == "anna"
    assert store.accounts.user_of("telegram", "77") == "anna"
    assert store.accounts.home("anna", "telegram") == Place("telegram", "77")

    assert main([*table, "revoke-token", token], client=dynamodb) == 0
    with pytest.raises(Unauthenticated):
        authenticate(store.accounts, f"Bearer {token}", now=0)


def test_an_account_of_another_user_is_rejected(store: Store, dynamodb: Any, tables: TableNames) -> None:
    store.accounts.add_identity("anna", "slack", "U100")

    refused = main(["--sessions-table", tables.sessions, "identify", "bert", "--slack", "U100"], client=dynamodb)

    assert refused == 1
    assert store.accounts.user_of("slack", "U100") == "anna"


def test_an_error_of_aws_is_explained(dynamodb: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--sessions-table", "no-such-table", "add-user", "anna"], client=dynamodb) == 1
    said = capsys.readouterr()
    assert (said.out, "names of the tables" in said.err) == ("", True)


@pytest.fixture
def admin(dynamodb: Any, tables: TableNames, engine: "Engine") -> Callable[..., int]:
    s3 = engine.client("s3")
    s3.create_bucket(Bucket=f"files-{tables.sessions.lower()}")
    names = ["--sessions-table", tables.sessions, "--handoffs-table", tables.handoffs]
    names += ["--files-bucket", f"files-{tables.sessions.lower()}"]
    return lambda *arguments: main([*names, *arguments], client=dynamodb, s3=s3)


def test_a_lost_token_is_revoked_by_its_id(
    store: Store, admin: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    admin("add-user", "anna", "--label", "laptop")
    token = capsys.readouterr().out.strip()
    admin("--json", "tokens", "anna")
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["label"], row["scopes"]) == ("laptop", ["handoff", "link", "read", "run"])

    assert admin("revoke-token", "anna", row["id"]) == 0
    with pytest.raises(Unauthenticated):
        authenticate(store.accounts, f"Bearer {token}", now=0)
    capsys.readouterr()
    assert admin("revoke-token", "anna", row["id"]) == 1
    assert "nothing was revoked" in capsys.readouterr().err


def test_revoking_names_the_accounts_that_a_token_has_linked(
    store: Store, admin: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    store.accounts.add_token("anna", "a" * 64)
    link = Link("l1", "anna", "anna", "telegram", "h1", valid_until=2, token_hash="a" * 64)
    assert store.links.create(link)
    assert store.links.use(link, "77", Place("telegram", "77"), "e1", now=1)

    assert admin("revoke-token", "anna", "a" * 12) == 0
    assert "unidentify anna --telegram 77" in capsys.readouterr().err
    assert store.accounts.user_of("telegram", "77") == "anna"


def test_a_further_token_does_not_link(admin: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert admin("--json", "add-token", "anna") == 0
    assert json.loads(capsys.readouterr().out)[0]["scopes"] == ["handoff", "read", "run"]


def test_a_token_that_never_existed_is_not_revoked(
    admin: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert admin("revoke-token", f"ho_anna.{'x' * 43}") == 1
    assert "Revoked" not in capsys.readouterr().err


def test_users_are_shown_in_columns(admin: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    admin("add-user", "anna", "--telegram", "77", "--home", "telegram=77")
    admin("add-user", "bert")
    capsys.readouterr()
    assert admin("users") == 0
    head, anna, bert = capsys.readouterr().out.splitlines()
    assert head.split() == ["user", "tokens", "accounts", "homes"]
    assert anna.split("  ")[0] == "anna"
    assert "telegram 77" in anna
    assert anna.index("telegram 77") == head.index("accounts") == bert.index("-")


def test_a_user_is_removed_only_when_confirmed(store: Store, admin: Callable[..., int]) -> None:
    admin("add-user", "anna", "--telegram", "77")
    assert admin("remove-user", "anna") == 1
    assert store.accounts.users() == ["anna"]
    assert admin("remove-user", "anna", "--yes") == 0
    assert (store.accounts.users(), store.accounts.user_of("telegram", "77")) == ([], None)
    assert admin("remove-user", "anna", "--yes") == 1


def test_an_account_with_its_home_is_linked(store: Store, admin: Callable[..., int]) -> None:
    admin("add-user", "anna")
    assert admin("identify", "anna", "--matrix", "@you:server", "--home", "matrix=!room:server") == 0
    assert store.accounts.user_of("matrix", "@you:server") == "anna"
    assert store.accounts.home("anna", "matrix") == Place("matrix", "!room:server")


def test_an_account_is_unlinked(store: Store, admin: Callable[..., int]) -> None:
    admin("identify", "anna", "--telegram", "77")
    assert admin("unidentify", "anna", "--telegram", "77") == 0
    assert store.accounts.user_of("telegram", "77") is None
    assert admin("unidentify", "anna", "--telegram", "77") == 1


def test_another_users_private_chat_is_no_home(store: Store, admin: Callable[..., int]) -> None:
    admin("add-user", "anna", "--telegram", "77")

    assert admin("add-user", "ben", "--telegram", "78", "--home", "telegram=77") == 1
    assert store.accounts.home("ben", "telegram") is None


@pytest.mark.parametrize("wrong", [("--home", "telegram=077"), ("--home", "slack=#general"), ("--discord", "7x")])
def test_an_id_of_another_form_is_refused(admin: Callable[..., int], wrong: tuple[str, str]) -> None:
    with pytest.raises(SystemExit):
        admin("add-user", "anna", *wrong)
