"""`make demo`: one whole handoff, printed step by step; exits with 0 only if it completed."""

import argparse
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
    """Uses free ports and separate state, so it can run beside another service."""
    description = "Runs one whole handoff on this machine and explains each step. It takes no options."
    argparse.ArgumentParser(prog="python -m local.demo", description=description).parse_args()
    logging.getLogger().setLevel(logging.ERROR)
    count = len(TRANSCRIPT.read_text().splitlines())
    show(f"1. Starting a separate service for this demo ({count}-message session in examples/session.jsonl) ...")
    from local.service import LocalService  # noqa: PLC0415 - slow imports, after the first output

    with LocalService() as service:
        show(f"   API {service.url}, simulated chats {service.simulator.url}")
        platform = service.chats[0].name
        show(f"2. In the terminal: handoff send {platform} --transcript examples/session.jsonl")
        finished = hand_over(service, platform)
        if finished.returncode != 0:
            show(f"FAILED: the CLI ended with {finished.returncode}.")
            return 1
        return check(service, platform, count)


def hand_over(service: "LocalService", platform: str) -> subprocess.CompletedProcess[bytes]:
    """Run the real CLI; its output goes to the terminal."""
    environment = {
        **os.environ,
        "HANDOFF_URL": service.url,
        "HANDOFF_TOKEN": service.tokens["owner"],
        "PYTHONPATH": str(ROOT / "cli"),
    }
    command = [sys.executable, "-m", "handoff_cli", "send", platform, "--transcript", str(TRANSCRIPT)]
    with tempfile.TemporaryDirectory() as elsewhere:
        environment["HANDOFF_CHECKOUT"] = elsewhere
        # Without a terminal the CLI asks nothing; Ctrl-C stops the whole demo.
        return subprocess.run(command, env=environment, check=False, cwd=Path(elsewhere), stdin=subprocess.DEVNULL)


def check(service: "LocalService", platform: str, count: int) -> int:
    """The chat must hold exactly one thread with one confirmation that names the number of messages."""
    threads = threads_of(service.simulator.state(), platform)
    show("3. In the chat:")
    for thread in threads:
        show(f"   thread “{thread['title']}”")
        for message in thread["messages"]:
            for line in message["text"].splitlines():
                show(f"   │ {line}")
    if len(threads) != 1:
        show(f"FAILED: {len(threads)} threads, expected one.")
        return 1
    (thread,) = threads
    if len(thread["messages"]) != 1 or not re.search(rf"\b{count}\b", thread["messages"][0]["text"]):
        show(f"FAILED: the thread does not hold exactly one confirmation that names {count} messages.")
        return 1
    show(f"4. Done: one thread, one confirmation, and the agent received all {count} messages.")
    show("   The demo's service stops now, and its link stops working. To try it yourself: make run")
    return 0


def threads_of(state: dict[str, Any], platform: str) -> list[dict[str, Any]]:
    """All threads of a platform in the simulator's state."""
    return [thread for chat in state["platforms"][platform]["chats"] for thread in chat["threads"]]


def show(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(interruptible(main, "Stopped. Nothing is left running."))
