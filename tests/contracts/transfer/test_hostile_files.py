"""Files that somebody else has made: a sentence for each, nothing is written, and little memory is used."""

import base64
import gzip
import hashlib
import json
import os
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from local.console import Console
from local.transfer.commands import NotMoved, export_to, import_from
from shared.domain.routes import Place
from shared.domain.tokens import Scope
from shared.ports.tables import Put, Table
from shared.store.bundle import store_on
from tests.contracts.store.world import NOW, USER, Ending, World
from tests.contracts.transfer.conftest import HASH, OTHER_HASH
from tests.support.memory_tables import MemoryTables

QUIET = Console(is_json=True)
MEGABYTE = 1024 * 1024
Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Lines:
    """The header and the items of an export: a user with account, home and token, and a session in a thread."""
    tables = MemoryTables()
    world = World(store_on(tables))
    accounts = world.store.accounts
    accounts.add_token("ada", HASH, label="laptop", scopes=frozenset({Scope.READ, Scope.ADMIN}))
    accounts.mark_used("ada", HASH[:12], "2026-11-17")
    accounts.add_identity("ada", "telegram", "77")
    accounts.set_home("ada", Place("telegram", "1001"))
    world.ended(Ending.COMPLETED, world.session("thread", messages=[USER]))
    path = tmp_path_factory.mktemp("export") / "export"
    export_to(tables, path, QUIET, now=NOW, force=True)
    *read, _ = map(json.loads, gzip.decompress(path.read_bytes()).splitlines())
    return read


def sealed(lines: Lines, **end: Any) -> bytes:
    """A whole file with these lines and the right end, unless told otherwise."""
    return sealed_text([json.dumps(line).encode() for line in lines], **end)


def sealed_text(lines: list[bytes], **end: Any) -> bytes:
    text = b"".join(line + b"\n" for line in lines)
    last = {"end": True, "items": len(lines) - 1, "sha256": hashlib.sha256(text).hexdigest(), **end}
    return gzip.compress(text + json.dumps(last).encode() + b"\n", 1)


def of(lines: Lines, kind: str) -> dict[str, Any]:
    """The first line of a kind, by the beginning of its `sk`, or a handoff."""
    key = "handoff_id" if kind == "handoff" else "sk"
    return next(
        line for line in lines[1:] if key in line["item"] and line["item"][key].startswith(("h", kind)[key == "sk"])
    )


def changed(kind: str, **values: Any) -> Callable[[Lines], bytes]:
    def change(lines: Lines) -> bytes:
        item = of(lines, kind)["item"]
        item.update(values)
        for name in [name for name, value in values.items() if value is ...]:
            del item[name]
        return sealed(lines)

    return change


def added(table: str = "sessions", **item: Any) -> Callable[[Lines], bytes]:
    return lambda lines: sealed([*lines, {"table": table, "item": item}])


def with_data(data: bytes) -> Callable[[Lines], bytes]:
    def change(lines: Lines) -> bytes:
        of(lines, "CHUNK#")["bytes"] = [["data", base64.b64encode(data).decode()]]
        return sealed(lines)

    return change


def line(text: bytes) -> Callable[[Lines], bytes]:
    return lambda lines: sealed_text([*(json.dumps(each).encode() for each in lines), text])


def header(**values: Any) -> Callable[[Lines], bytes]:
    return lambda lines: sealed([{**lines[0], **values}, *lines[1:]])


def without(kind: str) -> Callable[[Lines], bytes]:
    return lambda lines: sealed([each for each in lines if each is not of(lines, kind)])


DEEP = b"[" * 5000 + b"]" * 5000
EVE: dict[str, Any] = {"scopes": ["handoff", "read", "run", "link", "admin"], "v": 1}
HOSTILE: dict[str, Callable[[Lines], bytes]] = {
    "empty": lambda _: b"",
    "text": lambda _: b"hello",
    "cut": lambda lines: sealed(lines)[:-20],
    "cut in the middle": lambda lines: sealed(lines)[: len(sealed(lines)) // 2],
    "more behind it": lambda lines: sealed(lines) + gzip.compress(b'{"table":"sessions"}\n'),
    "no lines": lambda _: gzip.compress(b""),
    "no end": lambda lines: gzip.compress(b"".join(json.dumps(each).encode() + b"\n" for each in lines)),
    "an end of another type": lambda lines: sealed(lines, items="all", sha256=None),
    "an end without a digest": lambda _: gzip.compress(b'{"format":"handoff-data","version":1}\n{"end":true}\n'),
    "a header that is a list": lambda lines: sealed_text([b"[]", *(json.dumps(each).encode() for each in lines[1:])]),
    "a version that is true": header(version=True),
    "a version that is a text": header(version="1"),
    "a newer version": header(version=2),
    "a line of nothing": line(b""),
    "a line of null": line(b"null"),
    "a line of a list": line(b"[]"),
    "a line that is not UTF-8": line(b'{"table":"sessions","item":{"pk":"\xff","sk":"x"}}'),
    "deep": line(b'{"table":"sessions","item":{"pk":"USER#ada","sk":"USAGE","deep":' + DEEP + b"}}"),
    "deep, but readable": changed("META", deep=json.loads("[" * 40 + "]" * 40)),
    "a long number": line(b'{"table":"sessions","item":{"pk":"USER#ada","sk":"USAGE","x":' + b"9" * 5000 + b"}}"),
    "a number of 200 digits": changed("META", more=10**200),
    "a fraction": changed("META", epoch=1.5),
    "no number at all": line(b'{"table":"sessions","item":{"pk":"USER#ada","sk":"USAGE","x":NaN}}'),
    "an item that is a list": lambda lines: sealed([*lines, {"table": "sessions", "item": []}]),
    "another table": lambda lines: sealed([*lines, {"table": "secrets", "item": {"pk": "a", "sk": "b"}}]),
    "a table that is a list": lambda lines: sealed([*lines, {"table": [], "item": {"pk": "a", "sk": "b"}}]),
    "bytes at no place": lambda lines: sealed(
        [*lines, {"table": "sessions", "item": {"pk": "a", "sk": "b"}, "bytes": 7}]
    ),
    "bytes in the place of a key": lambda lines: sealed(
        [*lines, {"table": "sessions", "item": {"pk": "a", "sk": "b"}, "bytes": [["pk", "YQ=="]]}]
    ),
    "bytes that are no base64": lambda lines: sealed(
        [*lines, {"table": "sessions", "item": {"pk": "a", "sk": "b", "c": None}, "bytes": [["c", "ä"]]}]
    ),
    "a key that is a number": added(pk=5, sk="META"),
    "an empty key": added(pk="USER#ada", sk=""),
    "no key": added(sk="META"),
    "a surrogate in a key": added(pk="USER#ada", sk="IDENTITY#telegram#\ud83d", v=1),
    "a long key": added(pk="USER#ada", sk="IDENTITY#telegram#" + "7" * 2000, v=1),
    "an attribute without a name": changed("META", **{"": 1}),
    "an attribute of nothing": changed("META", title=None),
    "a large item": changed("META", title="x" * 500_000),
    "a newer item": changed("META", v=2),
    "a version of an item that is a text": changed("META", v="1"),
    "a user id with a slash": added(pk="USERS", sk="a/../b", v=1),
    "a time that is a text": changed("META", created_at="now"),
    "an epoch that is true": changed("META", epoch=True),
    "an owner that is no place": changed("META", owner="nowhere"),
    "a turn": changed("META", turn={"id": "t", "fence": 1}),
    "a handoff in flight": changed("META", active_handoff="h"),
    "a mark of another type": changed("META", resume_pending={"reason": "killed", "at": "soon"}),
    "a session under another key": changed("META", session_id="other"),
    "a session of another user": changed("META", user_id="eve"),
    "a token of nobody": added(pk="USER#eve", sk=f"TOKEN#{OTHER_HASH}", **EVE),
    "a token that is no hash": added(pk="USER#ada", sk="TOKEN#x", **EVE),
    "scopes that are a text": changed("TOKEN#", scopes="admin"),
    "an unknown scope": changed("TOKEN#", scopes=["root"]),
    "a label that is a list": changed("TOKEN#", label=["x"]),
    "an account of nobody": added(pk="PERSON#telegram#99", sk="PERSON", user="eve", v=1),
    "half an account": added(pk="PERSON#telegram#99", sk="PERSON", user="ada", v=1),
    "the account of another": changed("IDENTITY#", sk="IDENTITY#telegram#99"),
    "a home that is a number": changed("HOME#", route=7),
    "a home on another platform": changed("HOME#", route="slack:C1"),
    "a home in a terminal": added(pk="USER#ada", sk="HOME#cli", route="cli:x", v=1),
    "without its user": without("ada"),
    "without its session": without("META"),
    "without a part of the transcript": without("CHUNK#"),
    "a part that is a text": changed("CHUNK#", data="text"),
    "a part that is not packed": with_data(b"hello"),
    "a part that unpacks to much": with_data(zlib.compress(b"[" + b" " * (40 * MEGABYTE) + b"]")),
    "a part with no messages": with_data(zlib.compress(b"[]\n7")),
    "a count that is wrong": changed("CHUNK#", count=7),
    "a session of more messages": changed("META", message_count=9),
    "an item twice": lambda lines: sealed([*lines, lines[-1]]),
    "an item twice, in two forms": lambda lines: sealed(
        [*lines, {**lines[-1], "item": {**lines[-1]["item"], "more": 1}}]
    ),
    "a route to nowhere": added(pk="ROUTE#telegram:5", sk="ROUTE", session_id="none", v=1),
    "an open handoff": changed("handoff", state="running", expires_at=...),
    "a handoff of another user": changed("handoff", user_id="eve"),
    "a handoff without its target": changed("handoff", target=...),
    "an offer": added(pk="SESSION#thread", sk="RT#t", route="telegram:1", v=1),
    "a secret": added(pk="LINK#telegram#x", sk="LINK", v=1),
}


@pytest.mark.parametrize("how", HOSTILE)
def test_a_hostile_file_is_refused_in_a_sentence(lines: Lines, tmp_path: Path, how: str) -> None:
    path, target = tmp_path / "export", MemoryTables()
    copied: Lines = json.loads(json.dumps(lines))
    path.write_bytes(HOSTILE[how](copied))

    with pytest.raises(NotMoved, match=r"Nothing was written\.$") as refused:
        import_from(target, path, QUIET, yes=True)

    assert [item for table in Table for item in target.scan(table)] == []
    assert str(refused.value).isprintable()


def test_what_they_are_made_of_is_accepted(lines: Lines, tmp_path: Path) -> None:
    (tmp_path / "export").write_bytes(sealed(lines))
    assert import_from(MemoryTables(), tmp_path / "export", QUIET, yes=True) == 0


@pytest.mark.parametrize("has_user_row", [True, False])
def test_a_user_who_is_there_gets_nothing(tmp_path: Path, lines: Lines, has_user_row: bool) -> None:
    """Neither with a token alone, nor with all that is known of the user and one token more."""
    target = MemoryTables()
    (tmp_path / "own").write_bytes(sealed(lines))
    import_from(target, tmp_path / "own", QUIET, yes=True)
    before = [item for table in Table for item in target.scan(table)]
    token = {"table": "sessions", "item": {"pk": "USER#ada", "sk": f"TOKEN#{OTHER_HASH}", **EVE}}
    path = tmp_path / "hostile"
    path.write_bytes(sealed([*lines, token] if has_user_row else [lines[0], token]))

    with pytest.raises(NotMoved, match="Nothing was written") as refused:
        import_from(target, path, QUIET, yes=True)

    assert "ada" in str(refused.value)
    assert [item for table in Table for item in target.scan(table)] == before


def test_a_user_who_comes_while_it_is_written_gets_nothing(tmp_path: Path, lines: Lines) -> None:
    target = MemoryTables()
    (tmp_path / "own").write_bytes(sealed(lines))
    transact = target.transact
    seen = []

    def meddling(writes: Any) -> None:
        seen.append(writes)
        if len(seen) == 3:
            target.put(Put(Table.SESSIONS, {"pk": "USERS", "sk": "ada", "v": 1}))
        transact(writes)

    target.transact = meddling  # type: ignore[method-assign]  # an instance of this test
    with pytest.raises(NotMoved, match="has got another user ada"):
        import_from(target, tmp_path / "own", QUIET, yes=True)
    assert store_on(target).accounts.tokens("ada") == []


def test_counts_are_of_what_was_written(tmp_path: Path, lines: Lines, capsys: pytest.CaptureFixture[str]) -> None:
    claimed = {"users": 1000, "sessions": 1000, "messages": 10**6, "items": 10**7}
    (tmp_path / "export").write_bytes(sealed([{**lines[0], "counts": claimed}, *lines[1:]]))
    import_from(MemoryTables(), tmp_path / "export", QUIET, yes=True)
    counts, messages = json.loads(capsys.readouterr().out)["counts"], of(lines, "META")["item"]["message_count"]
    assert (counts["users"], counts["sessions"], counts["messages"], counts["items"]) == (
        1,
        1,
        messages,
        len(lines) - 1,
    )


def test_users_tokens_and_accounts_are_named_and_the_operator_is_asked(
    tmp_path: Path, lines: Lines, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    copied: Lines = json.loads(json.dumps(lines))
    of(copied, "TOKEN#")["item"]["label"] = "x\x1b[2Jy"
    (tmp_path / "export").write_bytes(sealed(copied))
    target = MemoryTables()
    monkeypatch.setattr("sys.stdin", open(os.devnull))  # noqa: SIM115, PTH123  # no terminal

    with pytest.raises(NotMoved, match="repeat it with --yes"):
        import_from(target, tmp_path / "export", Console(is_json=False))

    assert list(target.scan(Table.SESSIONS)) == []
    said = capsys.readouterr().out
    assert f"  ada: account telegram 77, token {HASH[:12]} “x\\u001b[2Jy” (admin, read)" in said
    assert "\x1b" not in said


@pytest.mark.parametrize(("answer", "count"), [("y\n", 1), ("\n", 0), ("no\n", 0), ("", 0)])
def test_it_is_written_only_after_a_yes(
    tmp_path: Path, lines: Lines, monkeypatch: pytest.MonkeyPatch, answer: str, count: int
) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

        def readline(self) -> str:
            return answer

    monkeypatch.setattr("sys.stdin", Terminal())
    (tmp_path / "export").write_bytes(sealed(lines))
    target = MemoryTables()
    if count:
        assert import_from(target, tmp_path / "export", QUIET) == 0
    else:
        with pytest.raises(NotMoved, match="Nothing was written"):
            import_from(target, tmp_path / "export", QUIET)
    assert len(store_on(target).accounts.users()) == count


MEASURED = """
import resource, sys
from pathlib import Path
from local.console import Console
from local.transfer.commands import NotMoved, import_from
from tests.support.memory_tables import MemoryTables
try:
    import_from(MemoryTables(), Path(sys.argv[1]), Console(is_json=True), yes=True)
except NotMoved as refused:
    print(refused)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
BETWEEN = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"
"""Linux counts the memory of the process that starts another one as the other's, so a small one starts it."""


def zeros(path: Path, megabytes: int, before: bytes, piece: bytes) -> None:
    """A small file that unpacks to so much."""
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b'{"format":"handoff-data","version":1}\n' + before)
        for _ in range(megabytes):
            file.write(piece * (MEGABYTE // len(piece)))


@pytest.mark.parametrize(
    ("megabytes", "before", "piece"),
    [
        (1500, b'{"table":"sessions","item":{"pk":"', b"a"),
        (1500, b"", b" "),
        (500, b"", b'{"table":"sessions","item":{"pk":"USERS","sk":"x","v":1}}\n'),
        (3, b'{"table":"sessions","item":{"pk":"USER#a","sk":"USAGE","x":[', b"[],{},"),
    ],
    ids=["a line of 1.5 GB", "a blank line of 1.5 GB", "the same line again and again", "many empty lists"],
)
def test_a_small_file_that_unpacks_to_much_takes_little_memory(
    tmp_path: Path, megabytes: int, before: bytes, piece: bytes
) -> None:
    path = tmp_path / "export"
    zeros(path, megabytes, before, piece)
    command = [sys.executable, "-c", BETWEEN, sys.executable, "-c", MEASURED, str(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    refused, most = run.stdout.splitlines()
    assert refused.endswith("Nothing was written.")
    assert int(most) * (1 if sys.platform == "darwin" else 1024) < 300 * MEGABYTE
