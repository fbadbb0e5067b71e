"""Transcript files: what is read, and how a broken one is refused with its line before anything is sent."""

import contextlib
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_cli.errors import UsageProblem
from handoff_cli.sessions.transcripts import MESSAGE_LIMIT, read_transcript
from tests.cli.conftest import Run
from tests.cli.stub_service import StubService

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
    ("text", "line", "problem"),
    [
        (f"{GOOD}\n{GOOD}\n{{broken\n{GOOD}", 3, "not JSON"),
        (f'{{"role": "user", "content": "hi"\n{GOOD}\n{GOOD}', 1, "not JSON"),
        (f"{GOOD}\n\n\nhello\n", 4, "not JSON"),
        ("hello", 1, "not JSON"),
        (f'{GOOD}\n{{"role": "robot", "content": "x"}}', 2, "unknown role 'robot'"),
        (f'{GOOD}\n{{"content": "x"}}', 2, 'no "role"'),
        (f'{GOOD}\n{{"role": "assistant"}}', 2, 'no "content"'),
        (f'{GOOD}\n{{"role": "assistant", "content": null, "tool_calls": []}}', 2, 'no "content"'),
        (f'{GOOD}\n{{"role": "tool", "content": "x"}}', 2, '"tool_call_id"'),
        (f'{GOOD}\n{{"role": "assistant", "content": "x", "tool_calls": {{"id": "1"}}}}', 2, '"tool_calls" is a list'),
        (f'{GOOD}\n{{"role": "user", "content": "x", "n": 1e999}}', 2, "1e999 is not JSON"),
        (f'{GOOD}\n{{"role": "user", "content": 7}}', 2, '"content" is text'),
        (f"{GOOD}\n[]", 2, "a message is an object"),
        (f'[{GOOD},\n{GOOD},\n\n  {{"role": "robot"}}]', 4, "unknown role"),
        (f'{{"title": "t",\n"messages": [\n{GOOD},\n{{"role": 1}}]}}', 4, "unknown role 1"),
        (f"[{GOOD},\n{GOOD}\n{GOOD}]", 3, "not JSON"),
        (f"[{GOOD}]\n]", 2, "something follows"),
        ('{"title": "t"}', 1, 'an object with "messages"'),
        (f'{GOOD}\n{{"role": "user", "content": "x", "n": NaN}}', 2, "NaN is not JSON"),
        (f"{GOOD}\n{'[' * 100_000}", 2, "nested too deeply"),
        (json.dumps({"role": "user", "content": "x" * MESSAGE_LIMIT}), 1, "at most 256 KiB"),
    ],
)
def test_a_broken_file_is_refused_with_its_line(text: str, line: int, problem: str) -> None:
    with pytest.raises(UsageProblem) as refusal:
        _read(text)
    assert f"line {line}:" in str(refusal.value)
    assert problem in str(refusal.value)


@pytest.mark.parametrize("text", ["", " \n\n ", "[]", '{"messages": []}'])
def test_nothing_to_hand_over_is_said(text: str) -> None:
    with pytest.raises(UsageProblem, match="nothing to hand over"):
        _read(text)


def test_bad_utf_8_is_refused_with_its_line() -> None:
    with pytest.raises(UsageProblem, match="line 2: not UTF-8"):
        _read(GOOD.encode() + b"\n\xff\xfe")


def test_a_tool_call_needs_no_content() -> None:
    assert len(_read('{"role": "assistant", "content": null, "tool_calls": [{"id": "1"}]}')) == 1


@given(st.text())
def test_any_text_is_read_or_refused_and_never_crashes(text: str) -> None:
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
def test_what_was_written_is_what_is_read(value: list[dict[str, str]], indent: int | None) -> None:
    assert _read(json.dumps(value, indent=indent)) == value
    assert _read(json.dumps({"messages": value}, indent=indent, ensure_ascii=False)) == value
    assert _read("\n".join(json.dumps(message, ensure_ascii=False) for message in value)) == value


def test_a_broken_file_stops_the_command_before_anything_is_sent(run: Run, stub: StubService, tmp_path: Path) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text(f"{GOOD}\n{GOOD}\n{{\n")
    done = run("send", "telegram", "--transcript", str(path))
    assert done.returncode == 2
    assert "broken.jsonl, line 3" in done.stderr
    assert stub.seen == []


def test_a_missing_file_and_a_directory_are_refused(run: Run, tmp_path: Path) -> None:
    for name in ("missing.jsonl", "."):
        done = run("send", "telegram", "--transcript", name)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
