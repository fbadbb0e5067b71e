"""`handoff run` beside the service: the user's own agent answers, if there is one on this machine."""

import importlib.util
import logging
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence

from local.paths import ROOT
from local.server.settings_file import known_names
from shared.backoff import backoff

log = logging.getLogger(__name__)
PROGRAMS = {"claude": "claude-code", "codex": "codex", "opencode": "opencode", "gemini": "gemini"}
"""Agents that a runner can use. It checks them itself, and says what is missing; without any, it is not started."""
STOP_SECONDS = 7.0
"""A runner of ours needs at most six."""
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 300.0
FINAL = (0, 1, 2, 5)
"""Exit codes that a new start would not change: stopped, no usable agent, wrong usage, not accepted by the service."""
SUPERVISED = {"HANDOFF_SUPERVISOR": "handoff up"}
"""The runner ends when its stdin ends, so it never outlives a service that was killed; the next one waits for that."""
NOT_INSTALLED = (
    "An agent is on this machine, but what drives it is not installed, so the model of the service answers. To let your "
    "own agent answer: pip install 'handoff-live[server]'"
)


class OwnAgent:
    """The runner as a child process; it is started again if it crashes. What it says goes to the log."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], agents: Sequence[str], *, umask: int = -1
    ) -> None:
        """`agents` are the names of those that are here. `umask` is for the files that they write."""
        self.agents = agents
        self._command, self._environment, self._umask = command, environment, umask
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._thread = threading.Thread(target=self._watch, name="own-agent", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Let the runner finish or give up what it works on, for some seconds."""
        self._stopping.set()
        with self._lock:
            process = self._process
        if process is not None:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
        self._thread.join(1)

    def _watch(self) -> None:
        tries = 0
        while (code := self._run()) is not None and code not in FINAL:
            tries += 1
            log.warning("the runner ended with code %d and is started again", code)
            if self._stopping.wait(backoff(tries, first=FIRST_PAUSE, longest=LONGEST_PAUSE)):
                return

    def _run(self) -> int | None:
        """Its exit code; None if the service stops."""
        with self._lock:
            if self._stopping.is_set():
                return None
            self._process = process = subprocess.Popen(  # our own program
                self._command,
                env=dict(self._environment),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,  # Ctrl-C reaches it through `stop`
                umask=self._umask,
            )
        with process:
            for line in process.stdout or ():
                if line.strip():
                    log.info("runner: %s", line.rstrip())
        return None if self._stopping.is_set() else process.returncode


def own_agent(environment: Mapping[str, str], *, url: str, token: str, umask: int = -1) -> OwnAgent | None:
    """The runner of this machine; None if no agent is here, or it is not installed, which is logged."""
    path = environment.get("PATH", "")
    agents = [name for program, name in PROGRAMS.items() if shutil.which(program, path=path)]
    if not agents:
        return None
    if importlib.util.find_spec("acp") is None:
        log.warning(NOT_INSTALLED)
        return None
    checkout = ROOT / "cli"  # not there in an installation, where the client is on the path
    found = {"PYTHONPATH": str(checkout)} if (checkout / "handoff_cli").is_dir() else {}
    known = {"HANDOFF_URL": url, "HANDOFF_TOKEN": token, **SUPERVISED}
    # Not the secrets of bots: with them a tool of the agent could speak, and press buttons, in the user's name.
    others = {name: value for name, value in environment.items() if name not in known_names()}
    command = [sys.executable, "-P", "-m", "handoff_cli", "run"]
    return OwnAgent(command, {**others, **found, **known}, agents, umask=umask)
