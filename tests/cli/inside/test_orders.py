"""Which prompts are orders for Handoff, and which are for the model."""

import pytest

from handoff_cli.inside.orders import Order, parse

TELEGRAM = Order("move", "telegram")


@pytest.mark.parametrize(
    ("prompt", "order"),
    [
        ("/handoff telegram", TELEGRAM),
        ("  /handoff   Telegram \n", TELEGRAM),
        ("/handoff:handoff telegram", TELEGRAM),
        ("/handoff telegram go on\nwith the tests", Order("move", "telegram", "go on\nwith the tests")),
        ("/handoff", Order("help")),
        ("/handoff help", Order("help")),
        ("/handoff back", Order("back")),
        ("/handoff status", Order("status")),
        ("/handoffs telegram", None),
        ("handoff telegram", None),
        ("explain /handoff telegram", None),
        ("please do the handoff back to me", None),
    ],
)
def test_with_slash_commands(prompt: str, order: Order | None) -> None:
    assert parse(prompt, "claude-code", behind=False) == order


@pytest.mark.parametrize(
    ("prompt", "order"),
    [
        ("handoff telegram", TELEGRAM),
        ("$handoff telegram", TELEGRAM),
        ("/handoff telegram", TELEGRAM),
        ("handoff back", Order("back")),
        ("handoff the keys to Anna", Order("move", "the", "keys to Anna", perhaps=True)),
        ("handoff telegram now", Order("move", "telegram", "now", perhaps=True)),
        ("handoff back to the tests", None),
        ("handoff", None),
    ],
)
def test_without_slash_commands(prompt: str, order: Order | None) -> None:
    assert parse(prompt, "codex", behind=False) == order


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
@pytest.mark.parametrize("prompt", ["and the tests?/handoff back", "two\nlines /handoff back", "/handoff back"])
def test_an_order_behind_refused_words(prompt: str, agent: str) -> None:
    assert parse(prompt, agent, behind=True) == Order("back")


def test_a_plain_order_behind_refused_words() -> None:
    assert parse("and the tests? handoff back", "codex", behind=True) == Order("back")
    assert parse("and the tests? handoff back", "claude-code", behind=True) is None
