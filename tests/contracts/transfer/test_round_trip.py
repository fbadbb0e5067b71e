"""From one database to another and back: every item that lasts is the same, and the service goes on with it."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from local.console import Console
from local.transfer.commands import export_to, import_from
from shared.domain.routes import Place
from shared.ports.tables import Put, Table, Write
from shared.store.bundle import store_on
from shared.store.keys import usage_key
from tests.contracts.store.world import NOW, THREAD, World
from tests.contracts.transfer.conftest import HASH, Make, fill, lasting, move


@pytest.mark.parametrize("middle", ["moto", "memory"])
def test_nothing_changes_on_the_way_there_and_back(make: Make, tmp_path: Path, middle: str) -> None:
    first, there, back = make("sqlite"), make(middle), make("sqlite")
    fill(first)

    move(first, there, tmp_path / "one")
    move(there, back, tmp_path / "two")

    usage = [item for item in lasting(back) if item["pk" if "pk" in item else "handoff_id"] == "USER#ada"]
    assert {**usage_key("ada"), "stored_bytes": 8_400_000, "v": 1} in usage
    without_usage = [item for item in lasting(back) if item.get("sk") != "USAGE"]
    assert without_usage == lasting(first)
    assert lasting(there) == lasting(back)
    assert len(without_usage) > 20


def test_tokens_epochs_routes_and_transcripts_survive(make: Make, tmp_path: Path) -> None:
    source, target = make("sqlite"), make("moto")
    before, after = fill(source), World(store_on(target))

    move(source, target, tmp_path / "export")

    token = after.store.accounts.token("ada", HASH)
    assert token == before.store.accounts.token("ada", HASH)
    assert after.store.accounts.users() == ["ada", "bob"]
    assert after.store.accounts.user_of("telegram", "77") == "ada"
    assert after.store.accounts.home("ada", "telegram") == Place("telegram", "1001")
    for name in ("terminal", "large", "thread", "suspended"):
        assert after.current(name) == before.current(name)
        read = [list(each.store.transcripts.load(name)) for each in (before, after)]
        assert read[0] == read[1]
    assert after.current("thread").owner == THREAD.place
    assert after.store.sessions.at(THREAD.place) == "thread"
    assert [handoff.id for handoff in after.store.handoffs.list("ada", session_id=None, state=None, limit=9)] == ["h-1"]
    moved = after.store.moves.to_terminal(after.current("thread"), now=NOW)
    assert moved.epoch == before.current("thread").epoch + 1


def test_an_export_can_be_imported_twice(make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = make("sqlite"), make("moto")
    fill(source)
    move(source, target, tmp_path / "export")
    once = lasting(target)
    capsys.readouterr()

    assert import_from(target, tmp_path / "export", Console(is_json=True), yes=True) == 0

    assert json.loads(capsys.readouterr().out)["written"] == 0
    assert lasting(target) == once


def dies_after(writes: int, transact: Callable[[Sequence[Write]], None]) -> Callable[[Sequence[Write]], None]:
    left = iter(range(writes))

    def dying(written: Sequence[Write]) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt
        transact(written)

    return dying


@pytest.mark.parametrize("kind", ["sqlite", "moto"])
def test_an_import_that_dies_anywhere_is_finished_by_the_next(
    make: Make, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = make("sqlite")
    fill(source)
    export_to(source, tmp_path / "export", Console(is_json=True), now=NOW)
    whole = make("memory")
    import_from(whole, tmp_path / "export", Console(is_json=True), yes=True)
    for number in range(0, len(lasting(whole)), 5 if kind == "sqlite" else 11):
        target = make(kind)
        with monkeypatch.context() as patched:
            patched.setattr(target, "transact", dies_after(number, target.transact))
            with pytest.raises(KeyboardInterrupt):
                import_from(target, tmp_path / "export", Console(is_json=True), yes=True)
        assert import_from(target, tmp_path / "export", Console(is_json=True), yes=True) == 0
        assert lasting(target) == lasting(whole)


def test_tokens_and_users_are_the_last_and_sessions_come_after_their_transcripts(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = make("sqlite"), make("memory")
    fill(source)
    export_to(source, tmp_path / "export", Console(is_json=True), now=NOW)
    order: list[tuple[str, str]] = []
    transact = target.transact

    def noted(writes: Sequence[Write]) -> None:
        order.extend((put.item.get("pk", "handoff"), put.item.get("sk", "")) for put in writes if isinstance(put, Put))
        transact(writes)

    monkeypatch.setattr(target, "transact", noted)
    import_from(target, tmp_path / "export", Console(is_json=True), yes=True)

    assert order[-2:] == [("USERS", "ada"), ("USERS", "bob")]
    assert [sk.startswith("TOKEN#") for _, sk in order[:-2]] == [False] * (len(order) - 4) + [True] * 2
    for session in ("terminal", "large", "thread"):
        rows = [sk for pk, sk in order if pk == f"SESSION#{session}" and not sk.startswith("ROUTE#")]
        assert rows[-1] == "META"
        assert len(rows) > 1
    assert {item["handoff_id"] for item in target.scan(Table.HANDOFFS)} == {"h-1"}
