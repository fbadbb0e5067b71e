"""`make demo`: one whole handoff by itself, each step told; exit 0 only if it really completed."""

import logging
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local.interruptible import interruptible

if TYPE_CHECKING:
    from local.service import LocalService

ROOT = Path(__file__).resolve().parent.parent
TRANSCRIPT = ROOT / "examples" / "session.jsonl"


def main() -> int:
    """Runs beside anything else: its own ports, its own state."""
    logging.getLogger().setLevel(logging.ERROR)
    count = len(TRANSCRIPT.read_text().splitlines())
    tell(f"1. Starting a service of its own for this demo ({count}-message session in examples/session.jsonl) ...")
    from local.service import LocalService  # noqa: PLC0415 - a second or two of imports, after the first words

    with LocalService() as service:
        tell(f"   API {service.url}, simulated chats {service.simulator.url}")
        tell("2. In the terminal: handoff send telegram --transcript examples/session.jsonl")
        finished = hand_over(service)
        if finished.returncode != 0:
            tell(f"FAILED: the CLI ended with {finished.returncode}.")
            return 1
        return check(service, count)


def hand_over(service: "LocalService") -> subprocess.CompletedProcess[bytes]:
    """Run the real CLI, its output straight to the person."""
    environment = {
        **os.environ,
        "HANDOFF_URL": service.url,
        "HANDOFF_TOKEN": service.tokens["owner"],
        "PYTHONPATH": str(ROOT / "cli"),
    }
    command = [sys.executable, "-m", "handoff_cli", "send", "telegram", "--transcript", str(TRANSCRIPT)]
    with tempfile.TemporaryDirectory() as elsewhere:
        environment["HANDOFF_CHECKOUT"] = elsewhere
        # Without a terminal it asks nothing: Ctrl-C is for the demo as a whole.
        return subprocess.run(command, env=environment, check=False, cwd=Path(elsewhere), stdin=subprocess.DEVNULL)


def check(service: "LocalService", count: int) -> int:
    """Look at the other end: exactly one thread, one confirmation in it, and it names the count of messages."""
    threads = threads_of(service.simulator.state(), "telegram")
    tell("3. In the chat:")
    for thread in threads:
        tell(f"   thread “{thread['title']}”")
        for message in thread["messages"]:
            for line in message["text"].splitlines():
                tell(f"   │ {line}")
    if len(threads) != 1:
        tell(f"FAILED: {len(threads)} threads, expected one.")
        return 1
    (thread,) = threads
    if len(thread["messages"]) != 1 or not re.search(rf"\b{count}\b", thread["messages"][0]["text"]):
        tell(f"FAILED: the thread does not hold one confirmation that names {count} messages.")
        return 1
    tell(f"4. Done: one thread, one confirmation, and the agent was given all {count} messages.")
    tell("   The demo's service ends here, and its link with it. To try it yourself: make run")
    return 0


def threads_of(state: dict[str, Any], platform: str) -> list[dict[str, Any]]:
    """All threads of a platform in the simulator's state."""
    return [thread for chat in state["platforms"][platform]["chats"] for thread in chat["threads"]]


def tell(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(interruptible(main, "Stopped. Nothing is left running."))
