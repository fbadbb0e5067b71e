"""The user's own agent behind a thread: the real Claude Code and Codex on a model on loopback, cold and open."""

import json
import statistics
import tempfile
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from bench.figures import Figures, timed
from bench.one_machine import running
from local.chats.simulator import Simulator
from tests.support.api_user import ApiUser
from tests.support.fake_model.server import FakeModel
from tests.support.real_agents import NAMES, ROOT, Home, begin_in_terminal, resume_in_terminal, why_absent
from tests.support.real_runner import HANDOFF, PLATFORM, Thread, runner

MESSAGES = 7
HANDOFFS = 3
_ASKING = {"claude-code": "default", "codex": "read-only"}


def run(figures: Figures) -> Iterator[str]:
    if reason := why_absent():
        yield f"skipped: {reason}"
        return
    with (
        tempfile.TemporaryDirectory() as directory,
        Simulator() as simulator,
        FakeModel() as model,
        running(Path(directory) / "data", simulator) as server,
    ):
        more = {
            "PYTHONPATH": str(ROOT / "cli"),
            "HANDOFF_URL": server.url,
            "HANDOFF_TOKEN": server.tokens["owner"],
        }
        for agent in NAMES:
            home = Home(Path(directory) / agent, model.url, more)
            home.prepare()
            try:
                yield from _of_agent(figures, agent, home, server.user())
            finally:
                home.end_daemons()


def _of_agent(figures: Figures, agent: str, home: Home, user: ApiUser) -> Iterator[str]:
    figures.note(f"{agent} open", _over_acp(agent, home))
    yield f"{agent}: a prompt in an open ACP process {figures[f'{agent} open']:.2f} s"
    settings = home.path / ".config" / "handoff" / "runner.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    for name, text in (("cold", "warm_sessions = 0\n"), ("warm", "")):
        settings.write_text(text)
        with runner(home, user, again=name == "warm"):
            thread, _ = _hand_over(agent, home, user, begin_in_terminal(home, agent, "hello").native_id)
            _message(thread)
            figures.note(f"{agent} {name}", _median(lambda thread=thread: _message(thread), MESSAGES))  # type: ignore[misc]
            yield f"{agent}: message to reply, {name}: {figures[f'{agent} {name}']:.2f} s"
    with runner(home, user, again=True):
        begun = [begin_in_terminal(home, agent, "hello").native_id for _ in range(HANDOFFS)]
        times = [_hand_over(agent, home, user, native_id)[1] for native_id in begun]
        figures.note(f"{agent} handoff", statistics.median(times))
    alone = begin_in_terminal(home, agent, "hello").native_id
    figures.note(
        f"{agent} plain", _median(lambda: timed(lambda: resume_in_terminal(home, agent, alone, "hi")), HANDOFFS)
    )
    yield f"{agent}: handoff to completed {figures[f'{agent} handoff']:.2f} s, a plain start {figures[f'{agent} plain']:.2f} s"


def _over_acp(agent: str, home: Home) -> float:
    native_id = begin_in_terminal(home, agent, "hello").native_id
    with home.acp(agent, CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION="false") as client:
        client.call("session/resume", sessionId=native_id, cwd=str(home.project), mcpServers=[])
        client.call("session/set_mode", sessionId=native_id, modeId=_ASKING[agent])

        def prompt() -> Any:
            text = [{"type": "text", "text": "how are you"}]
            return client.call("session/prompt", sessionId=native_id, prompt=text)

        prompt()
        return _median(lambda: timed(prompt), MESSAGES)


def _hand_over(agent: str, home: Home, user: ApiUser, native_id: str) -> tuple[Thread, float]:
    """The thread, and the seconds from the request to its end, as the service counts them."""
    title = f"{agent} {uuid.uuid4().hex[:8]}"
    source = f"{agent}:{native_id}"
    done = json.loads(home.run(*HANDOFF, "send", PLATFORM, "--from", source, "--title", title, "--json"))
    handoff = user.http.get(f"/handoffs/{done['id']}").raise_for_status().json()
    took = datetime.fromisoformat(handoff["updated_at"]) - datetime.fromisoformat(handoff["created_at"])
    return Thread(user, title), took.total_seconds()


def _message(thread: Thread) -> float:
    words = f"how are you {uuid.uuid4().hex[:6]}"

    def answered() -> None:
        thread.say(words)
        thread.shows(words)

    return timed(answered)


def _median(measure: Callable[[], float], times: int) -> float:
    return statistics.median(measure() for _ in range(times))
