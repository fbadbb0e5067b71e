"""Which prompts are commands for Handoff, and which are for the model."""

import pytest

from handoff_cli.inside.slash_command import SlashCommand, parse

TELEGRAM = SlashCommand("move", "telegram")


@pytest.mark.parametrize(
    ("prompt", "command"),
    [
        ("/handoff telegram", TELEGRAM),
        ("  /handoff   Telegram \n", TELEGRAM),
        ("/handoff:handoff telegram", TELEGRAM),
        ("/handoff telegram go on\nwith the tests", SlashCommand("move", "telegram", "go on\nwith the tests")),
        ("/handoff", SlashCommand("help")),
        ("/handoff help", SlashCommand("help")),
        ("/handoff back", SlashCommand("back")),
        ("/handoff status", SlashCommand("status")),
        ("/handoffs telegram", None),
        ("handoff telegram", None),
        ("explain /handoff telegram", None),
        ("please do the handoff back to me", None),
    ],
)
def test_with_slash_commands(prompt: str, command: SlashCommand | None) -> None:
    assert parse(prompt, "claude-code", behind=False) == command


@pytest.mark.parametrize(
    ("prompt", "command"),
    [
        ("handoff telegram", TELEGRAM),
        ("$handoff telegram", TELEGRAM),
        ("/handoff telegram", TELEGRAM),
        ("handoff back", SlashCommand("back")),
        ("handoff the keys to Anna", SlashCommand("move", "the", "keys to Anna", perhaps=True)),
        ("handoff telegram now", SlashCommand("move", "telegram", "now", perhaps=True)),
        ("handoff back to the tests", None),
        ("handoff", None),
    ],
)
def test_without_slash_commands(prompt: str, command: SlashCommand | None) -> None:
    assert parse(prompt, "codex", behind=False) == command


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
@pytest.mark.parametrize("prompt", ["and the tests?/handoff back", "two\nlines /handoff back", "/handoff back"])
def test_an_order_behind_refused_words(prompt: str, agent: str) -> None:
    assert parse(prompt, agent, behind=True) == SlashCommand("back")


def test_a_plain_order_behind_refused_words() -> None:
    assert parse("and the tests? handoff back", "codex", behind=True) == SlashCommand("back")
    assert parse("and the tests? handoff back", "claude-code", behind=True) is None
