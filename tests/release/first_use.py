"""An installed `handoff` in an environment with nothing else: the service, a handoff, and a turn of the user's own agent."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx

from handoff_cli.readers.claude_code.find import folder_name
from tests.support.fake_agents import COMMAND, ROOT
from tests.support.waiting import eventually

MESSAGES = '[{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]'
NATIVE_ID = "5f0c6a8e-0000-4000-8000-00000000beef"
PLATFORM = "telegram"


class FirstUse:
    """A person with the program and an empty home directory. Everything that was started ends with `stop`."""

    def __init__(self, handoff: Path, home: Path) -> None:
        self.handoff, self.home, self.project = handoff, home, home / "project"
        self.project.mkdir(parents=True)
        self.environ = {"PATH": f"{handoff.parent}:/usr/bin:/bin", "HOME": str(home), "LC_ALL": "C.UTF-8"}
        self._started: list[subprocess.Popen[bytes]] = []

    def type(self, *words: str, text: str = "") -> str:
        """One command, to its end. Raises AssertionError with what it has shown."""
        done = subprocess.run(
            [self.handoff, *words],
            cwd=self.project,
            env=self.environ,
            input=text,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def start(self, *words: str, until: str) -> None:
        """One command that goes on; returns when it shows `until`."""
        output = self.home / f"output-{len(self._started)}"
        with output.open("wb") as stream:
            process = subprocess.Popen(
                [self.handoff, *words],
                cwd=self.project,
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
            )
        self._started.append(process)
        eventually(lambda: until in output.read_text(), within=120, show=output.read_text)

    def stop(self) -> list[int]:
        """Ctrl-C to all of them; their exit codes."""
        for process in reversed(self._started):
            process.send_signal(signal.SIGINT)
        return [process.wait(60) for process in self._started]

    # --- the steps

    def hands_over(self) -> None:
        """`handoff up` with simulated chats, and a handoff that completes."""
        self.start("up", "--listen", "127.0.0.1:0", "--no-runner", until="Ctrl-C stops it")
        sent = json.loads(self.type("send", PLATFORM, "--transcript", "-", "--yes", "--json", text=MESSAGES))
        assert (sent["state"], sent["error"]) == ("completed", None), sent

    def lets_the_own_agent_answer(self) -> None:
        """`handoff run` with a scripted agent in place of Claude Code, which answers in the thread."""
        self._give_agent()
        self.start("run", "--agent", "claude-code", "--name", "here", until="Ctrl-C")
        eventually(lambda: "here" in self.type("runners"), within=60)
        self.type("send", PLATFORM, "--from", f"claude-code:{NATIVE_ID}", "--title", "Own", "--yes", "--json")
        chat, thread = self._thread()
        said = {"platform": PLATFORM, "chat": chat, "thread": thread["id"], "user": "owner", "text": "and now?"}
        self._simulator("POST", "/say", said)
        eventually(lambda: "You said: and now?" in json.dumps(self._thread()[1]), within=60, show=self._thread)
        assert f"--resume {NATIVE_ID}" in self.type("resume", "Own")

    def _give_agent(self) -> None:
        environ = [f"PYTHONPATH={ROOT}:{ROOT / 'cli'}", f"FAKE_ACP_LOG={self.home / 'agent.log'}"]
        configuration = self.home / ".config" / "handoff"
        configuration.mkdir(parents=True, exist_ok=True)
        command = ["/usr/bin/env", *environ, sys.executable, COMMAND[1]]
        (configuration / "runner.toml").write_text(f"agents.claude-code = {json.dumps(command)}\n")
        session = self.home / ".claude" / "projects" / folder_name(self.project) / f"{NATIVE_ID}.jsonl"
        session.parent.mkdir(parents=True)
        session.write_text("".join(f"{json.dumps(record)}\n" for record in _session()))

    def _thread(self) -> tuple[str, dict[str, Any]]:
        """The chat and the thread of the session of the own agent."""
        chats = self._simulator("GET", "/state")["platforms"][PLATFORM]["chats"]
        found = [(chat["id"], each) for chat in chats for each in chat["threads"] if "Own" in each["title"]]
        assert len(found) == 1, found
        return found[0]

    def _simulator(self, method: str, path: str, body: Any = None) -> Any:
        (file,) = self.home.rglob("handoff/env")
        (url,) = re.findall(r"^HANDOFF_SIM_URL=(\S+)", file.read_text(), re.MULTILINE)
        return httpx.request(method, f"{url}{path}", json=body, timeout=30).raise_for_status().json()


def _session() -> list[dict[str, Any]]:
    """As Claude Code stores it."""
    record: dict[str, Any] = {"sessionId": NATIVE_ID, "parentUuid": None}
    asked = {**record, "type": "user", "uuid": "r1", "message": {"role": "user", "content": "hello"}}
    content = [{"type": "text", "text": "hi"}]
    answered = {**record, "type": "assistant", "uuid": "r2", "parentUuid": "r1"}
    return [asked, {**answered, "message": {"role": "assistant", "content": content}}]
