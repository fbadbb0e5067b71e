"""The table of chat commands, its parser and its help text."""

import pytest

from shared.domain.commands import COMMANDS, help_text, parse_command
from shared.use_cases.chat.commands import HANDLERS


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("/new", ("new", "")),
        ("  /Resume  Parser fixes ", ("resume", "Parser fixes")),
        ("/status@handoff_bot", None),
        ("/resume two\nlines", ("resume", "two\nlines")),
        ("/unknown", None),
        ("please /stop", None),
        ("stop", None),
        ("", None),
    ],
)
def test_a_text_is_parsed_as_a_command(text: str, parsed: tuple[str, str] | None) -> None:
    assert parse_command(text) == parsed


def test_every_command_has_a_handler() -> None:
    assert set(HANDLERS) == set(COMMANDS)


def test_help_names_every_listed_command() -> None:
    lines = help_text().splitlines()[1:]
    listed = [command for command in COMMANDS.values() if command.listed]
    assert len(lines) == len(listed)
    for line, command in zip(lines, listed, strict=True):
        assert f"/{command.name}" in line
        assert command.description in line


@pytest.mark.parametrize("name", COMMANDS)
def test_descriptions_fit_platform_menus(name: str) -> None:
    command = COMMANDS[name]
    texts = [command.description, *([command.argument.description] if command.argument else [])]
    assert all(1 <= len(text) <= 100 for text in texts), "Discord's limit"
