"""A plan that the agent wants to carry out: the plan itself as messages, then two answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from acp import schema

from handoff_cli.runner.questions.permission import Option
from handoff_cli.runner.questions.request import Request
from handoff_cli.runner.questions.shown import IN_FILE, MASKED, TOO_LONG
from handoff_cli.runner.questions.visible import visible_in_markdown
from handoff_cli.transcripts.likely_secrets import mask_words

KEEP_PLANNING = "The plan was not approved. Say what to change."
LONGEST_PLAN = 20_000
"""Characters that are shown whole: more would be read by nobody."""
_EXCERPT = 4000
_NAMES = {"allow_once": "Approve, and ask before edits", "reject_once": "Keep planning"}

Json = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """What is shown of it, and the two options by what they mean. `reason` says why it cannot be approved."""

    text: str
    options: Mapping[str, str]
    reason: str = ""
    whole: str = ""
    """All of it, if only its length is in the way."""
    every: Mapping[str, str] = field(default_factory=dict)
    file: str = ""

    def with_file(self, file: str) -> "Plan":
        """The same plan, with a file that has the whole text: it can be approved."""
        return replace(self, text=f"{self.text}{IN_FILE}", options=self.every, reason="", file=file)

    def body(self) -> Json:
        """The question as the service takes it, without its number."""
        return {
            "title": "Approve this plan?",
            "kind": "switch_mode",
            "detail": "",
            "plan": self.text,
            **({"reason": self.reason} if self.reason else {}),
            **({"file": self.file} if self.file else {}),
            "options": [{"id": kind, "kind": kind, "name": _NAMES[kind]} for kind in self.options],
        }

    def chosen(self, decision: Mapping[str, Any]) -> str | None:
        """The agent's id of the option that the user chose; None refuses."""
        return self.options.get(str(decision.get("option"))) if decision["state"] == "answered" else None


def plan_of(request: Request, options: tuple[Option, ...]) -> Plan | None:
    """The plan of a request to leave the mode in which one is made; None if it is none.

    Only two of the agent's options are offered. The others would let it work without asking.
    """
    text = _text(request)
    if request.kind != "switch_mode" or not text.strip():
        return None
    text, is_masked = mask_words(text)
    text = visible_in_markdown(text)
    reason = TOO_LONG if len(text) > LONGEST_PLAN else MASKED if is_masked else ""
    first = {option.kind: option.id for option in reversed(options)}
    every: dict[str, str] = {kind: first[kind] for kind in ("allow_once", "reject_once") if kind in first}
    offered = {kind: id_ for kind, id_ in every.items() if kind == "reject_once" or not reason}
    whole = text if reason == TOO_LONG and not is_masked and not request.is_cut else ""
    shown = f"{text[:_EXCERPT]}\n\n[… cut here]" if reason == TOO_LONG else text
    return Plan(shown, offered, reason, whole, every) if offered else None


def _text(request: Request) -> str:
    given = request.input.get("plan") if isinstance(request.input, dict) else None
    if isinstance(given, str) and given.strip():
        return given
    blocks = [block.content for block in request.content if isinstance(block, schema.ContentToolCallContent)]
    return "\n\n".join(block.text for block in blocks if isinstance(block, schema.TextContentBlock))
