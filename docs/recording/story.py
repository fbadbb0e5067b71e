"""The story that is recorded: what is typed, what the agent answers, and the texts of the picture."""

from typing import Any

START = 'handoff chat --title "Nightly export"'
FIRST = "The nightly export takes an hour now. Where would you look?"
SECOND = "What do I change first? My train leaves in ten minutes."
LEAVE = "/handoff telegram"
ON_THE_TRAIN = "On the train now. Do I need the index at all?"
BACK = "handoff resume nightly"

_ANSWERS = {
    FIRST: (
        "At the query first: it has **no bound on the date**, so it reads every order ever made. Then at the index, "
        "`orders(day)`."
    ),
    SECOND: "1. Bound the query to **yesterday**\n2. Add the index `orders(day)`\n3. Only then look at memory",
    ON_THE_TRAIN: (
        "Not on the first day: one day of orders is small. Measure after the first change, and add it only if the "
        "export is still slow."
    ),
}


def answer(messages: list[dict[str, Any]], _note: str | None) -> str:
    """The agent's part. Any question that is not in the story is the kickoff of a handoff."""
    return _ANSWERS.get(
        str(messages[-1]["content"]),
        f"I have all {len(messages) - 1} messages. The nightly export: first bound the query to yesterday, then the "
        "index, then memory. Go on whenever you like.",
    )


TITLE = "A session moves from the terminal to Telegram and back"
DESCRIPTION = (
    f"In a terminal, a person asks an agent two questions, then types {LEAVE}. The steps of the handoff appear, then a "
    "link and its QR code. Beside the terminal a fresh thread opens in Telegram, the agent confirms there that it has all "
    "messages, and the conversation goes on. In another terminal, the command handoff resume brings the session back."
)
CAPTION = "Drawn by “make recording”: the real command line and service, a simulated Telegram, scripted answers."
FIRST_TERMINAL = "at your desk"
SECOND_TERMINAL = "at home, later"
