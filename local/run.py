"""The whole service on this machine, from its start until Ctrl-C."""

import logging
import os
import sys
import time
from pathlib import Path

from local.chats.real import RealBots
from local.env_file import env_file
from local.interruptible import heed_stops, wait_for_signal
from local.options import faults, parameters_from, secrets_from
from local.paths import ROOT
from local.service import LocalService
from local.watcher import EventPrinter
from shared.agents.registry import describe
from shared.settings import Settings

API_PORT, PAGE_PORT = 8787, 8788


def run(started: float) -> int:
    """Start, print what to do next and each event, stop cleanly. Never prompts; raises KeyboardInterrupt while starting."""
    logging.getLogger().setLevel(logging.ERROR)
    real = RealBots.from_environment(os.environ)
    if wrong := [*faults(os.environ), *real.faults()]:
        say("\n".join([*wrong, "Nothing was started."]))
        return 2
    printer = EventPrinter(color=sys.stdout.isatty() and "NO_COLOR" not in os.environ)
    service = LocalService(
        api_port=API_PORT,
        page_port=PAGE_PORT,
        parameters=parameters_from(os.environ),
        secrets=secrets_from(os.environ),
        real=real,
        watcher=printer.watcher(),
    )
    try:
        service.start()
        with env_file(Path(os.environ.get("HANDOFF_LOCAL_DIR") or ROOT / ".local") / "env", connection(service)):
            heed_stops()  # before it says that it is ready: a stop is no interruption then
            say(greeting(service, time.monotonic() - started))
            wait_for_signal()
            printer.mute()
            say("\nStopping ...")
    finally:
        service.stop()
    say("Stopped. Its sessions, threads and tokens are deleted.")
    return 0


def connection(service: LocalService) -> dict[str, str]:
    """The variables that a client needs."""
    return {
        "HANDOFF_URL": service.url,
        "HANDOFF_TOKEN": service.tokens["owner"],
        "HANDOFF_OTHER_TOKEN": service.tokens["other"],
        "HANDOFF_SIM_URL": service.simulator.url,
    }


def greeting(service: LocalService, seconds: float) -> str:
    """The addresses, and the commands to copy."""
    agent = describe(Settings.from_environment(service.stack.functions["AgentFunction"].environment))
    real = "".join(f"  Real   {line}\n" for line in service.real.described(service.store))
    *others, last = (chat.spec.title for chat in service.chats)
    titles = f"{', '.join(others)} and {last}" if others else last
    return f"""\
Ready in {seconds:.1f} s. Agent: {agent}. State is in memory and is lost when you stop it.

  API    {service.url}
  Chats  {service.simulator.url}   (simulated {titles}: open it in a browser)
{real}
Hand a session over, from another terminal:

  ./handoff send {service.chats[0].name} --transcript examples/session.jsonl

Ctrl-C stops it. Events:
"""


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
