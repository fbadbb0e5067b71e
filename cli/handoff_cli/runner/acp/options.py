"""Options of an open session that the user may choose: its model, mode and effort, as the agent offers them now."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from acp import schema

from handoff_cli.runner.agents.spec import AgentSpec

DIALS = {"model": "model", "mode": "mode", "effort": "thought_level"}
"""The options that the user may choose, by the agent's name for their category."""
_MOST = 50
_LONGEST = 200
_LONGEST_DESCRIPTION = 500


@dataclass(frozen=True)
class Dial:
    """One option: what it is now, and what it may be. `id` is the agent's."""

    id: str
    current: str
    choices: tuple[schema.SessionConfigSelectOption, ...]

    def named(self, wanted: str) -> str | None:
        """The value that the user means: by its id, or by its name in any case."""
        low = wanted.casefold()
        exact = (choice.value for choice in self.choices if choice.value == wanted)
        alike = (choice.value for choice in self.choices if low in {choice.value.casefold(), choice.name.casefold()})
        return next(exact, None) or next(alike, None)

    def body(self) -> dict[str, Any]:
        """As the service takes it."""
        options = [
            {
                "value": choice.value,
                "name": choice.name[:_LONGEST],
                "description": (choice.description or "")[:_LONGEST_DESCRIPTION],
            }
            for choice in self.choices[:_MOST]
        ]
        return {"current": self.current, "options": options}


class Options:
    """The options of one session. Lists change with the model: the newest answer or update of the agent counts."""

    def __init__(self, spec: AgentSpec) -> None:
        self._spec = spec
        self._known: Sequence[Any] = ()

    def took(self, options: Sequence[Any] | None) -> None:
        """The agent has told all of its options."""
        if options is not None:
            self._known = options

    def watch(self, update: object) -> None:
        """Some agents announce what has changed."""
        if isinstance(update, schema.ConfigOptionUpdate):
            self.took(update.config_options)

    def dial(self, name: str) -> Dial | None:
        """What may be chosen; None if the agent has no such option. Of the modes, only those in which it asks."""
        option = next(filter(None, (self._as(name, option) for option in self._known)), None)
        if option is None:
            return None
        allowed = self._spec.modes_to_choose if name == "mode" else None
        choices = (choice for choice in _choices(option) if allowed is None or choice.value in allowed)
        usable = tuple(choice for choice in choices if 0 < len(choice.value) <= _LONGEST)
        return Dial(option.id, option.current_value, usable)

    def _as(self, name: str, option: object) -> schema.SessionConfigOptionSelect | None:
        if not isinstance(option, schema.SessionConfigOptionSelect):
            return None
        if name == "mode" and self._spec.mode_option:
            return option if option.id == self._spec.mode_option else None
        return option if option.category == DIALS.get(name) else None


def _choices(option: schema.SessionConfigOptionSelect) -> Iterator[schema.SessionConfigSelectOption]:
    for entry in option.options:
        if isinstance(entry, schema.SessionConfigSelectGroup):
            yield from entry.options
        else:
            yield entry
