"""The lines of an export: every value that an item may hold is the same when it is read again."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.transfer import data_file
from local.transfer.data_file import (
    PIECE,
    contents_in,
    line_of,
    line_of_piece,
    read_header,
    record_of,
    records_in,
    write_file,
)
from shared.ports.tables import Table

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(min_size=1).filter(lambda name: name not in ("pk", "sk")), VALUES, max_size=4))
def test_every_item_survives_its_line(values: dict[str, object]) -> None:
    record = (Table.SESSIONS, {"pk": "p", "sk": "s", **values})
    line = line_of(record)
    assert record_of(line) == record
    assert line.count(b"\n") == 1
    assert line.isascii()


def test_half_of_a_surrogate_pair_survives() -> None:
    record = (Table.HANDOFFS, {"handoff_id": "h", "text": "\ud83d"})
    assert record_of(line_of(record)) == record


def test_the_same_items_give_the_same_bytes(tmp_path: Path) -> None:
    items = [(Table.HANDOFFS, {"handoff_id": str(number), "data": bytes(10)}) for number in range(3)]
    for name in ("one", "two"):
        write_file(tmp_path / name, {"counts": {}}, map(line_of, items))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert read_header(tmp_path / "one") == {"format": "handoff-data", "version": 1, "counts": {}}
    assert list(records_in(tmp_path / "one")) == items


def test_what_packs_very_well_can_be_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gzip makes a thousandth of zeros; a reader refuses less than a hundredth."""
    monkeypatch.setattr(data_file, "_ALWAYS_UNPACKED", 1_000_000)
    pieces = [bytes(PIECE)] * 40
    write_file(tmp_path / "zeros", {}, map(line_of_piece, pieces))
    read_header(tmp_path / "zeros")
    assert list(contents_in(tmp_path / "zeros")) == pieces
    assert (tmp_path / "zeros").stat().st_size < len(pieces) * PIECE / 20


def test_an_empty_export_is_whole(tmp_path: Path) -> None:
    write_file(tmp_path / "empty", {}, [])
    assert read_header(tmp_path / "empty")["version"] == 1
    with pytest.raises(FileExistsError):
        write_file(tmp_path / "empty", {}, [])
