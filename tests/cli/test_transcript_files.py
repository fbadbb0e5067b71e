"""Transcript files: which forms are read, and how an invalid one is rejected before anything is sent."""

import contextlib
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_cli.errors import UsageProblem
from handoff_cli.transcripts.file import read_transcript
from handoff_cli.transcripts.messages import MESSAGE_LIMIT
from tests.cli.conftest import Run
from tests.support.fault_proxy import FaultProxy

GOOD = '{"role": "user", "content": "hi"}'


def _read(raw: bytes | str) -> list[dict[str, object]]:
    return read_transcript("-", io.BytesIO(raw if isinstance(raw, bytes) else raw.encode())).messages


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"{GOOD}\n",
        f"\n\n{GOOD}\r\n\r\n",
        f"[{GOOD}]",
        f'{{"messages": [{GOOD}]}}',
        json.dumps({"model": "m", "messages": [json.loads(GOOD)]}, indent=4),
        f"\ufeff{GOOD}",
    ],
)
def test_each_form_gives_the_same_messages(text: str) -> None:
    assert _read(text) == [{"role": "user", "content": "hi"}]


def test_a_line_separator_inside_a_string_does_not_end_a_line() -> None:
    assert _read('{"role": "user", "content": "a\u2028b"}') == [{"role": "user", "content": "a\u2028b"}]


@pytest.mark.parametrize(
    ("text", "where", "problem"),
    [
        (f"{GOOD}\n{GOOD}\n{{broken\n{GOOD}", 3, "not JSON"),
        (f'{{"role": "user", "content": "hi"\n{GOOD}\n{GOOD}', 1, "not JSON"),
        (f"{GOOD}\n\n\nhello\n", 4, "not JSON"),
        ("hello", 1, "not JSON"),
        (f'{GOOD}\n{{"role": "robot", "content": "x"}}', 2, "unknown role 'robot'"),
        (f'{GOOD}\n{{"content": "x"}}', 2, 'no "role"'),
        (f'{GOOD}\n{{"role": "assistant"}}', 2, 'neither "content" nor'),
        (f'{GOOD}\n{{"role": "assistant", "content": null, "tool_calls": []}}', 2, 'neither "content" nor'),
        (f'{GOOD}\n{{"role": "tool", "content": "x"}}', 2, '"tool_call_id"'),
        (
            f'{GOOD}\n{{"role": "assistant", "content": "x", "tool_calls": {{"id": "1"}}}}',
            2,
            '"tool_calls" must be a list',
        ),
        (f'{GOOD}\n{{"role": "user", "content": "x", "n": 1e999}}', 2, "1e999 is not JSON"),
        (f'{GOOD}\n{{"role": "user", "content": 7}}', 2, '"content" must be text'),
        (f"{GOOD}\n[]", 2, "a message is an object"),
        (f'[{GOOD},\n{GOOD},\n\n  {{"role": "robot"}}]', "message 3", "unknown role"),
        (f'{{"title": "t",\n"messages": [\n{GOOD},\n{{"role": 1}}]}}', "message 2", "unknown role 1"),
        (f"[{GOOD},\n{GOOD}\n{GOOD}]", 3, "not JSON"),
        (f"[{GOOD}]\n]", 2, "Extra data"),
        ('{"title": "t"}', 1, 'an object with "messages"'),
        (f'{GOOD}\n{{"role": "user", "content": "x", "n": NaN}}', 2, "NaN is not JSON"),
        (f"{GOOD}\n{'[' * 100_000}", 2, "nested too deeply"),
        (json.dumps({"role": "user", "content": "x" * MESSAGE_LIMIT}), 1, "the limit is 256 KiB"),
    ],
)
def test_an_invalid_file_is_rejected_with_the_place(text: str, where: int | str, problem: str) -> None:
    with pytest.raises(UsageProblem) as refusal:
        _read(text)
    assert f"{where if isinstance(where, str) else f'line {where}'}:" in str(refusal.value)
    assert problem in str(refusal.value)


@pytest.mark.parametrize("text", ["", " \n\n ", "[]", '{"messages": []}'])
def test_an_empty_file_has_nothing_to_hand_over(text: str) -> None:
    with pytest.raises(UsageProblem, match="nothing to hand over"):
        _read(text)


def test_bad_utf_8_is_rejected_with_its_line() -> None:
    with pytest.raises(UsageProblem, match="line 2: not UTF-8"):
        _read(GOOD.encode() + b"\n\xff\xfe")


def test_a_tool_call_needs_no_content() -> None:
    assert len(_read('{"role": "assistant", "content": null, "tool_calls": [{"id": "1"}]}')) == 1


@given(st.text())
def test_any_text_is_read_or_rejected(text: str) -> None:
    with contextlib.suppress(UsageProblem):
        assert _read(text.encode("utf-8", "surrogatepass"))


messages = st.lists(
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["user", "assistant", "system"]),
            "content": st.text(st.characters(codec="utf-8")),
        }
    ),
    min_size=1,
    max_size=8,
)


@given(messages, st.sampled_from([None, 2]))
def test_every_form_is_read_as_it_was_written(value: list[dict[str, str]], indent: int | None) -> None:
    assert _read(json.dumps(value, indent=indent)) == value
    assert _read(json.dumps({"messages": value}, indent=indent, ensure_ascii=False)) == value
    assert _read("\n".join(json.dumps(message, ensure_ascii=False) for message in value)) == value


def test_an_invalid_file_sends_nothing(run: Run, proxy: FaultProxy, tmp_path: Path) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text(f"{GOOD}\n{GOOD}\n{{\n")
    done = run("send", "telegram", "--transcript", str(path))
    assert done.returncode == 2
    assert "broken.jsonl, line 3" in done.stderr
    assert proxy.requests == []


def test_a_missing_file_and_a_directory_are_rejected(run_alone: Run) -> None:
    for name in ("missing.jsonl", "."):
        done = run_alone("send", "telegram", "--transcript", name)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
