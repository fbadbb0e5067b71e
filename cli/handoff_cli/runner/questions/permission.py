"""A permission that the agent asks for, as a question of the service."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from handoff_cli.runner.excerpt import cut
from handoff_cli.runner.questions.shown import Shown
from handoff_cli.runner.questions.visible import visible

_NAME = 200

Json = dict[str, Any]


@dataclass(frozen=True)
class Option:
    """One answer that the agent accepts; `kind` says what it means, `id` is the agent's own."""

    id: str
    kind: str
    name: str


@dataclass(frozen=True)
class Permission:
    """What is shown, and the options that are offered. The service knows these by their numbers only."""

    shown: Shown
    kind: str
    options: tuple[Option, ...]
    file: str = ""
    """The id of the file with the whole text."""

    def body(self) -> Json:
        """The question as the service takes it, without its number."""
        return {
            "title": self.shown.title,
            "kind": self.kind,
            "detail": self.shown.detail,
            **({"reason": self.shown.reason} if self.shown.reason else {}),
            **({"file": self.file} if self.file else {}),
            "options": [
                {"id": str(number), "kind": option.kind, "name": cut(visible(option.name) or option.kind, _NAME)}
                for number, option in enumerate(self.options, start=1)
            ],
        }

    def chosen(self, decision: Mapping[str, Any]) -> str | None:
        """The agent's id of the option that the user chose; None refuses, as does an option that was not offered."""
        if decision["state"] != "answered":
            return None
        numbered = {str(number): option.id for number, option in enumerate(self.options, start=1)}
        return numbered.get(str(decision.get("option")))
