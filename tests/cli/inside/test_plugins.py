"""The plugins that `install` writes for opencode and hermes, run without these programs."""

import json
import os
import runpy
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.support.real_agents import PROGRAMS

DRIVER = """\
import { Handoff } from PLUGIN
const toasts = []
const client = { tui: { showToast: async ({ body }) => toasts.push(body.message) } }
const hooks = await Handoff({ client, directory: process.cwd() })
await hooks["command.execute.before"]({ command: "other", sessionID: "s1", arguments: "" })
let thrown = ""
try {
  await hooks["command.execute.before"]({ command: "handoff", sessionID: "s1", arguments: "status" })
} catch (error) {
  thrown = error.message
}
const say = async (sessionID) => {
  const output = { parts: [{ type: "text", id: "prt_1", text: "and the tests?" }] }
  try {
    await hooks["chat.message"]({ sessionID }, output)
  } catch (error) {
    return error.message
  }
  return output.parts.map((part) => part.text)
}
const shown = async () => {
  while (toasts.length < 2) await new Promise((resolve) => setTimeout(resolve, 20))
}
const prompts = [await say("s1"), await say("away"), await say("back")]
await shown()
console.log(JSON.stringify({ toasts, thrown, prompts }))
"""


def _notes(directory: Path, agent: str) -> dict[str, Path]:
    """One session that is away, and one that is back."""
    states = {
        "away": {"phase": "away", "session_id": "s2", "url": "http://127.0.0.1:9"},
        "back": {"phase": "back", "session_id": "s3", "reload": agent == "opencode", "context": "Told elsewhere."},
    }
    notes = {name: directory / "home/.local/state/handoff/away" / agent / f"{name}.json" for name in states}
    for name, state in states.items():
        notes[name].parent.mkdir(parents=True, exist_ok=True)
        notes[name].write_text(json.dumps(state))
    return notes


def _node() -> str | None:
    """A node that knows modules; the one of the real agents first, which is newer than Debian's."""
    bundled = PROGRAMS / "node"
    return str(bundled) if bundled.exists() else shutil.which("node")


@pytest.mark.npm
def test_the_plugin_of_opencode_shows_the_answer_and_stops(
    environ: dict[str, str], run_alone: Run, tmp_path: Path
) -> None:
    node = _node()
    if node is None:
        pytest.skip("node is not installed")
    run_alone("install", "opencode", "--yes")
    plugin = tmp_path / "home" / ".config" / "opencode" / "plugin" / "handoff.js"
    module = tmp_path / "plugin.mjs"
    module.write_text(plugin.read_text())
    driver = tmp_path / "driver.mjs"
    driver.write_text(DRIVER.replace("PLUGIN", json.dumps(str(module))))
    notes = _notes(tmp_path, "opencode")
    done = subprocess.run(
        [node, str(driver)], env={**os.environ, **environ}, capture_output=True, text=True, check=True, timeout=60
    )
    told = json.loads(done.stdout)
    assert (told["toasts"][0], told["thrown"]) == (("This session is here.",) * 2)
    passed, refused, returned = told["prompts"]
    assert passed == ["and the tests?"]
    assert "it cannot be checked whether it is still there" in refused
    assert refused == told["toasts"][1]
    assert returned == ["and the tests?", "Told elsewhere."]
    assert not notes["back"].exists()


class _Context:
    """What hermes gives to a plugin."""

    def __init__(self) -> None:
        self.commands: dict[str, Callable[[str], str]] = {}
        self.hooks: dict[str, Callable[..., Any]] = {}

    def register_command(self, name: str, run: Callable[[str], str], **_: Any) -> None:
        self.commands[name] = run

    def register_hook(self, name: str, run: Callable[..., Any]) -> None:
        self.hooks[name] = run


def test_the_plugin_of_hermes_answers(
    environ: dict[str, str], run_alone: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_alone("install", "hermes", "--yes")
    for name, value in {**environ, "HERMES_SESSION_ID": "s1"}.items():
        monkeypatch.setenv(name, value)
    plugin = runpy.run_path(str(tmp_path / "home" / ".hermes" / "plugins" / "tochat" / "__init__.py"))
    context = _Context()
    plugin["register"](context)
    assert context.commands["tochat"]("status") == "This session is here."
    assert "/tochat back" in context.commands["tochat"]("")

    before_model = context.hooks["pre_llm_call"]
    assert before_model(session_id="s1", user_message="and the tests?", model="m") is None
    notes = _notes(tmp_path, "hermes")
    refused = before_model(session_id="away", user_message="and the tests?")["context"]
    assert "Do nothing else" in refused
    assert "it cannot be checked whether it is still there" in refused
    assert before_model(session_id="back", user_message="and the tests?") == {"context": "Told elsewhere."}
    assert not notes["back"].exists()
