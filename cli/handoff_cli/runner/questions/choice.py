"""A form that the agent asks the user to fill in, as choices of the service. What a field is, its schema says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from acp import schema

from handoff_cli.runner.excerpt import masked
from handoff_cli.runner.questions.visible import visible

_TITLE = 200
_NAME = 200
_DESCRIPTION = 1000
_DETAIL = 20_000
_MOST_OPTIONS = 20
_COMPANIONS = ("_custom", "_note")
"""Endings of the names of text fields that take words for the field of that name."""
_OTHER = "None of the above"

Json = dict[str, Any]


@dataclass(frozen=True)
class Picked:
    """What the user chose of a field: values, or words; `row` names the message that they were."""

    values: tuple[str, ...] = ()
    words: str | None = None
    row: str | None = None


@dataclass(frozen=True)
class Value:
    """One value of a field, and its texts."""

    value: str
    name: str
    description: str = ""


@dataclass(frozen=True)
class Choice:
    """One field of a form. Words go into the field `words_into`; empty if it takes none."""

    key: str
    question: str
    values: tuple[Value, ...] = ()
    several: bool = False
    words_into: str = ""
    blocks: bool = True

    def body(self) -> Json:
        """The question as the service takes it, without its number. A long question is all in the detail."""
        question = visible(masked(self.question))
        line = " ".join(self.question.split())
        is_short = "\n" not in self.question and len(question) <= _TITLE
        return {
            "title": question if is_short else _within(visible(masked(line)), _TITLE),
            "kind": "choice",
            "detail": "" if is_short else _within(question, _DETAIL),
            "several": self.several,
            "free": bool(self.words_into),
            "blocks": self.blocks,
            "options": [_option(number, value) for number, value in enumerate(self.values, start=1)],
        }

    def chosen(self, decision: Mapping[str, Any]) -> Picked | None:
        """None if the user skipped it, or did not answer in time."""
        if decision["state"] != "answered":
            return None
        numbered = {str(number): value.value for number, value in enumerate(self.values, start=1)}
        values = tuple(numbered[name] for name in decision.get("options") or () if name in numbered)
        return Picked(values, None if values else str(decision.get("text") or ""), decision.get("words"))

    def content(self, picked: Picked) -> Json:
        """The field as the agent takes it."""
        if picked.values:
            return {self.key: list(picked.values) if self.several else picked.values[0]}
        return {self.words_into: picked.words} if self.words_into and picked.words else {}


@dataclass(frozen=True)
class Form:
    """What one request of the agent asks. If it does not `block`, the agent goes on, and an answer may come too late."""

    choices: tuple[Choice, ...]
    blocks: bool = True


def form_of(message: str, mode: object, meta: Mapping[str, Any]) -> Form | None:
    """A form that can be shown in a thread; None for all else, which is declined.

    That is: addresses to open, secrets, fields of other types, and forms of MCP servers, which name no step of the agent.
    """
    about = meta.get("codex")
    delivery = about.get("delivery") if isinstance(about, Mapping) else None
    if not isinstance(mode, schema.ElicitationFormSessionMode) or (mode.tool_call_id is None and delivery != "async"):
        return None
    fields: Mapping[str, Json] = mode.requested_schema.model_dump(by_alias=True, exclude_none=True, mode="json").get(
        "properties", {}
    )
    companions = {key: base for key in fields if (base := _base(key, fields))}
    found = [_choice(key, field, message, is_alone=len(fields) - len(companions) == 1) for key, field in fields.items()
             if key not in companions]  # fmt: skip
    choices = [choice for choice in found if choice]
    if not choices or len(choices) < len(found) or any(_is_secret(field) for field in fields.values()):
        return None
    blocks = delivery != "async"
    with_words = [_with_words(choice, fields, companions) for choice in choices]
    return Form(tuple(replace(choice, blocks=blocks) for choice in with_words), blocks)


def _choice(key: str, field: Json, message: str, *, is_alone: bool) -> Choice | None:
    """None for a field that is neither text nor options."""
    title, description = str(field.get("title") or ""), str(field.get("description") or "")
    # One agent has the question as the title and a word for it as the description, another one the other way round.
    texts = sorted((text for text in (title, description) if text), key=len)
    question = message if is_alone and not description and title != message and "?" not in title else ""
    question = question or (texts[-1] if texts else message)
    items = field.get("items")
    if isinstance(items, Mapping):
        values = _values(items.get("anyOf"), items.get("enum"))
        return Choice(key, question, values, several=True) if values else None
    values = _values(field.get("oneOf"), field.get("enum"))
    if field.get("type") != "string" or len(values) > _MOST_OPTIONS:
        return None
    return Choice(key, question, values) if values else Choice(key, question, words_into=key)


def _values(titled: object, plain: object) -> tuple[Value, ...]:
    if isinstance(titled, Sequence):
        return tuple(
            Value(str(one["const"]), str(one.get("title") or one["const"]), str(one.get("description") or ""))
            for one in titled
        )
    return tuple(Value(str(one), str(one)) for one in plain) if isinstance(plain, Sequence) else ()


def _base(key: str, fields: Mapping[str, Json]) -> str:
    """The field whose words this one takes; empty if it is a question itself."""
    bases = (key.removesuffix(ending) for ending in _COMPANIONS if key.endswith(ending))
    field = fields[key]
    if field.get("type") != "string" or field.get("oneOf") or field.get("enum"):
        return ""
    return next((base for base in bases if base in fields), "")


def _with_words(choice: Choice, fields: Mapping[str, Json], companions: Mapping[str, str]) -> Choice:
    """With the field that takes words in place of an option."""
    companion = next((key for key, base in companions.items() if base == choice.key), "")
    if not companion or not choice.values:
        return choice
    if "codex" not in (fields[choice.key].get("_meta") or {}):
        return replace(choice, words_into=companion)
    # It takes words as the value itself, so an option that only leads to them is not needed.
    return replace(choice, words_into=choice.key, values=tuple(one for one in choice.values if one.value != _OTHER))


def _is_secret(field: Json) -> bool:
    about = (field.get("_meta") or {}).get("codex")
    return field.get("format") == "password" or bool(isinstance(about, Mapping) and about.get("isSecret"))


def _option(number: int, value: Value) -> Json:
    """A name that is too long stands whole in the description."""
    name, description = visible(masked(value.name)) or value.value, visible(masked(value.description))
    if len(name) > _NAME:
        name, description = _within(name, _NAME), " ".join(filter(None, (name, description)))
    return {"id": str(number), "kind": "choice", "name": name, "description": _within(description, _DESCRIPTION)}


def _within(text: str, most: int) -> str:
    """The text, with a mark where it was cut."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
