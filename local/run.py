"""The whole service on this machine, from its start until Ctrl-C."""

import logging
import os
import signal
import sys
import threading
import time
from pathlib import Path

from local.chats.real import RealPlatforms
from local.env_file import env_file
from local.interruptible import SIGNALS
from local.narrator import Narrator
from local.options import faults, parameters_from, secrets_from
from local.paths import ROOT
from local.service import LocalService
from shared.agents.registry import describe
from shared.settings import Settings

API_PORT, PAGE_PORT = 8787, 8788


def run(began: float) -> int:
    """Start, say what to do next, tell each event, stop cleanly. Never prompts. Raises KeyboardInterrupt until it is up."""
    logging.getLogger().setLevel(logging.ERROR)
    if wrong := list(faults(os.environ)):
        say("\n".join([*wrong, "Nothing was started."]))
        return 2
    narrator = Narrator(color=sys.stdout.isatty() and "NO_COLOR" not in os.environ)
    service = LocalService(
        api_port=API_PORT,
        page_port=PAGE_PORT,
        parameters=parameters_from(os.environ),
        secrets=secrets_from(os.environ),
        real=RealPlatforms.from_environment(os.environ),
        watcher=narrator.watcher(),
    )
    try:
        service.start()
        with env_file(Path(os.environ.get("HANDOFF_LOCAL_DIR") or ROOT / ".local") / "env", connection(service)):
            say(greeting(service, time.monotonic() - began))
            wait_for_a_signal()
            narrator.mute()
            say("\nStopping ...")
    finally:
        service.stop()
    say("Stopped. Its sessions, threads and tokens are gone with it.")
    return 0


def wait_for_a_signal() -> None:
    """From here on nothing is interrupted: Ctrl-C, once or often, means to stop in order."""
    stop = threading.Event()
    for signum in SIGNALS:
        signal.signal(signum, lambda *_: stop.set())
    stop.wait()


def connection(service: LocalService) -> dict[str, str]:
    """What a client needs to know."""
    return {
        "HANDOFF_URL": service.url,
        "HANDOFF_TOKEN": service.tokens["owner"],
        "HANDOFF_OTHER_TOKEN": service.tokens["other"],
        "HANDOFF_SIM_URL": service.simulator.url,
    }


def greeting(service: LocalService, seconds: float) -> str:
    """What is where, and the lines to copy."""
    agent = describe(Settings.from_environment(service.stack.functions["TurnFunction"].environment))
    real = "".join(f"  Real   {line}\n" for line in service.real.described())
    return f"""\
Ready in {seconds:.1f} s. The agent: {agent}. State is in memory: stopping forgets everything.

  API    {service.url}
  Chats  {service.simulator.url}   (simulated Telegram, Slack and Discord: open it in a browser)
{real}
Hand a session over, from another terminal:

  ./handoff send telegram --transcript examples/session.jsonl

Ctrl-C stops it. Events:
"""


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
