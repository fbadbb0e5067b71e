"""The story that is recorded: what is typed, what the agent answers, and the texts of the picture."""

from typing import Any

TITLE_OF_SESSION = "Nightly export"
LEAVE = f'handoff send telegram --from claude-code --title "{TITLE_OF_SESSION}"'
ON_THE_TRAIN = "On the train now. Run it for yesterday, and tell me how long it takes."
COMMAND = "./export --day yesterday"
CHOICE = "Where shall it write?"
PLACES = ("Staging", "Production")
BACK = "handoff resume nightly"

SAID = (
    "The nightly export takes an hour now. Where would you look?",
    "At the query first: it has no bound on the date, so it reads every order ever made.",
    "Then bound it to one day.",
    "Done, in export.py: it takes the day as an option now. I have not run it yet.",
)
"""The session in the terminal: a person and an agent in turns."""
CONFIRMED = "I am here, with the whole session: the export takes one day as an option now, and has not been run yet."
DONE = "It took 41 s instead of an hour: 1,204 orders of yesterday, all written."
REFUSED = "Then I leave it as it is."


def answer(_messages: list[dict[str, Any]], _note: str | None) -> str:
    """The service's own model; in this story it only confirms the warm-up."""
    return "Ready."


TITLE = "A session of Claude Code moves from the terminal to Telegram and back"
DESCRIPTION = (
    "In a terminal, a person hands the session of their own coding agent over to Telegram. The steps of the handoff appear, "
    "then a link. Beside the terminal a fresh thread opens, and the agent confirms there. The person asks it to run a "
    "command; the agent asks where to write, then for permission, each time with buttons; one is pressed, and the result "
    "arrives. In another terminal, the command handoff resume brings the session back and says how to go on in the agent itself."
)
CAPTION = (
    "Drawn by “make recording”: the real command line, service and runner, a simulated Telegram, a scripted agent."
)
FIRST_TERMINAL = "at your desk"
SECOND_TERMINAL = "at home, later"
