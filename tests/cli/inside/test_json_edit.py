"""Entries come into JSON text and out of it; everything else keeps its bytes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_cli.inside.setup.json_edit import add, remove
from handoff_cli.inside.setup.json_tree import NotJson, parse

OURS = {"hooks": [{"type": "command", "command": "ours"}]}
PATH = ("hooks", "Prompt")


def _is_ours(entry: Any) -> bool:
    return bool(entry == OURS)


COMMENTED = """\
{
\t// mine
\t"hooks": {
\t\t"Prompt": [
\t\t\t{"theirs": 1}, /* the first */ {"theirs": "// no comment"}, // the second
\t\t],
\t},
}
"""


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"a": 1}',
        '{\n  "a": 1 // why\n}\n',
        '{\r\n  "a": 1\r\n}\r\n',
        "{\n  // nothing yet\n}\n",
        '{"hooks": {"Stop": [1]}}',
        '{\n    "hooks": {\n        "Stop": [\n            1\n        ]\n    },\n    "z": {}\n}',
        COMMENTED,
    ],
)
def test_an_entry_goes_in_and_out_to_the_byte(text: str) -> None:
    changed = add(text, PATH, OURS)
    assert '"ours"' in changed
    assert remove(changed, PATH, _is_ours) == text


def test_comments_stay_where_they_are() -> None:
    assert add(COMMENTED, PATH, OURS).splitlines()[:5] == COMMENTED.splitlines()[:5]


def test_an_entry_has_the_indentation_of_the_file() -> None:
    assert add('{\n    "a": 1\n}', ("b",), 2) == '{\n    "a": 1,\n    "b": [\n        2\n    ]\n}'


def test_an_empty_file_becomes_an_object() -> None:
    assert json.loads(add("", PATH, OURS)) == {"hooks": {"Prompt": [OURS]}}


def test_a_comment_before_the_bracket_does_not_swallow_it() -> None:
    text = '{"hooks": {"Prompt": [1, // one\n' + json.dumps(OURS) + "]}}"
    assert _values(remove(text, PATH, _is_ours)) == {"hooks": {"Prompt": [1]}}


@pytest.mark.parametrize(
    "text", ["[1", "{", '{"a" 1}', '{"a": 1 "b": 2}', "{} {}", '{"a": tru}', "{'a': 1}", "[" * 500]
)
def test_what_is_not_json_is_rejected(text: str) -> None:
    with pytest.raises(NotJson, match="line 1 is not valid JSON"):
        parse(text)


@pytest.mark.parametrize("text", ['{"hooks": []}', '{"hooks": {"Prompt": {}}}', "[]", '"text"'])
def test_another_shape_is_rejected(text: str) -> None:
    with pytest.raises(TypeError):
        add(text, PATH, OURS)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
SETTINGS = st.dictionaries(st.text(), VALUES, max_size=3)
HOOKS = st.dictionaries(st.sampled_from(["Prompt", "Stop"]), st.lists(VALUES, max_size=3), max_size=2)


@given(SETTINGS, HOOKS | st.none(), st.sampled_from([None, 1, 4, "\t"]))
def test_other_values_are_never_changed(settings: dict[str, Any], hooks: Any, indent: Any) -> None:
    settings = settings if hooks is None else {**settings, "hooks": hooks}
    if not isinstance(settings.get("hooks", {}), dict):
        return
    text = json.dumps(settings, indent=indent)
    changed = add(text, PATH, OURS)
    expected = {**settings, "hooks": {**(hooks or {}), "Prompt": [*(hooks or {}).get("Prompt", []), OURS]}}
    if "hooks" not in settings or hooks is not None:
        assert json.loads(changed) == expected
    left = _values(remove(changed, PATH, _is_ours))
    assert {key: value for key, value in left.items() if key != "hooks"} == {
        key: value for key, value in settings.items() if key != "hooks"
    }
    assert left.get("hooks", {}).get("Prompt", []) == (hooks or {}).get("Prompt", [])
    assert left.get("hooks", {}).get("Stop") == (hooks or {}).get("Stop")


def _values(text: str) -> Any:
    """The text's value, after what JSON does not know was taken out by the tree."""

    def plain(node: Any) -> Any:
        if node.kind == "object":
            return {key: plain(member) for _, key, member in node.members}
        return [plain(item) for item in node.items] if node.kind == "array" else node.value

    return plain(parse(text))
