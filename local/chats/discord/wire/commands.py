"""The slash commands that the application has registered; at the start, those that the bot registers itself."""

from collections.abc import Mapping
from typing import Any

from local.chats.discord.wire import errors
from local.chats.simulator.backend import Backend
from shared.platforms.discord.slash_commands import SLASH_COMMANDS, TEXT_OPTION

JSON = dict[str, Any]
CHAT_INPUT, STRING = 1, 3


class Commands:
    """Registered commands: `options` maps a name to the option that takes the rest of the line, if there is one."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.options = {str(command["name"]): _option(command) for command in SLASH_COMMANDS}

    def replace(self, wanted: list[JSON]) -> list[JSON]:
        """Replace the whole list (bulk overwrite)."""
        self.options = {self._name(command): _option(command) for command in wanted}
        return [self._shown(name) for name in sorted(self.options)]

    def used(self, name: str, rest: str) -> JSON:
        """The data of an interaction: the command, with the rest of the line as its option."""
        data: JSON = {"id": self.id_of(name), "name": name, "type": CHAT_INPUT}
        option = self.options[name]
        return data | ({"options": [{"name": option, "type": STRING, "value": rest}]} if option and rest else {})

    def id_of(self, name: str) -> str:
        return str(5 * 10**18 + sorted(self.options).index(name))

    def _name(self, command: JSON) -> str:
        name = str(command.get("name") or "")
        errors.check_length("name", name, shortest=1, longest=32)
        return name

    def _shown(self, name: str) -> JSON:
        option = self.options[name]
        options = [{"type": TEXT_OPTION, "name": option, "description": option, "required": False}] if option else []
        return {
            "id": self.id_of(name),
            "application_id": self._backend.options.application,
            "version": "1",
            "default_member_permissions": None,
            "type": 1,
            "name": name,
            "name_localizations": None,
            "description": name,
            "description_localizations": None,
            "dm_permission": True,
            "contexts": None,
            "integration_types": [0],
            "options": options,
            "nsfw": False,
        }


def _option(command: Mapping[str, Any]) -> str | None:
    """The first option that takes text."""
    options = command.get("options") or []
    return next((str(option["name"]) for option in options if option.get("type") == TEXT_OPTION), None)
