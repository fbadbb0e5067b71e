"""Integrations: the files and settings with which each agent knows `/handoff`."""

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from handoff_cli.directories import tool_home
from handoff_cli.inside.setup.files import read
from handoff_cli.inside.setup.json_tree import NotJson
from handoff_cli.inside.setup.pieces import MARK, Entry, OwnFile, Piece, notified_platform, ours

_ABOUT = "Move this session to a chat (telegram, slack, discord), or bring it back"
_HINT = "telegram | back | status"
# The hook ends by itself after 9 seconds.
_SECONDS = 15

_SKILL = """\
---
name: handoff
description: {about}
argument-hint: {hint}
disable-model-invocation: true
---
<!-- {mark} {agent}`. A hook answers /handoff; the model is not asked. -->
"""

_OPENCODE_COMMAND = """\
---
description: {about}
---
<!-- {mark} opencode`. The plugin answers /handoff; the model is not asked. -->
Say only this: the Handoff plugin is not loaded; restart opencode.
"""

_OPENCODE_PLUGIN = """\
// {mark} opencode`. Hands the session over, and stops prompts before the model is asked while it is elsewhere.
import {{ spawn }} from "node:child_process"
import {{ existsSync }} from "node:fs"
import {{ homedir }} from "node:os"

const PROGRAM = {program}
const STATE = process.env.XDG_STATE_HOME || `${{process.env.HOME || homedir()}}/.local/state`

function ask(event) {{
  return new Promise((resolve) => {{
    const [command, ...options] = [...PROGRAM, "hook", "opencode"]
    const child = spawn(command, options, {{ stdio: ["pipe", "pipe", "ignore"], timeout: {ms} }})
    let output = ""
    child.stdout.on("data", (data) => (output += data))
    child.on("error", (error) => resolve({{ reason: `Handoff cannot be started: ${{error.message}}` }}))
    child.on("close", () => {{
      try {{
        resolve(output.trim() ? JSON.parse(output) : {{}})
      }} catch {{
        resolve({{ reason: "Handoff gave no answer." }})
      }}
    }})
    child.stdin.on("error", () => {{}})
    child.stdin.end(JSON.stringify(event))
  }})
}}

export const Handoff = async ({{ client, directory }}) => {{
  const show = (message) =>
    client.tui.showToast({{ body: {{ title: "Handoff", message, variant: "info", duration: 20000 }} }})
  return {{
    "command.execute.before": async (input) => {{
      if (input.command !== "handoff") return
      const prompt = `/handoff ${{input.arguments ?? ""}}`
      const {{ reason }} = await ask({{ session_id: input.sessionID, cwd: directory, prompt }})
      await show(reason ?? "Handoff gave no answer.")
      throw new Error(reason) // the only way to stop here
    }},
    "chat.message": async (input, output) => {{
      if (!existsSync(`${{STATE}}/handoff/away/opencode/${{input.sessionID}}.json`)) return
      const text = output.parts.find((part) => part.type === "text")
      const event = {{ session_id: input.sessionID, cwd: directory, prompt: text?.text ?? "" }}
      const {{ reason, hookSpecificOutput }} = await ask(event)
      if (reason) {{
        setTimeout(() => show(reason).catch(() => {{}}), 500) // after opencode's own, which says only that it failed
        throw new Error(reason)
      }}
      const told = hookSpecificOutput?.additionalContext
      if (told && text) output.parts.push({{ ...text, id: `${{text.id}}0`, text: told, synthetic: true }})
    }},
  }}
}}
"""

_GEMINI_COMMAND = """\
# {mark} gemini`. The hook answers what this expands to; the model is not asked.
description = "{about}"
prompt = "/handoff {{{{args}}}}"
"""

_HERMES_ABOUT = """\
# {mark} hermes`.
name: tochat
version: 1.0.0
description: {about}
"""

_HERMES_PLUGIN = '''\
"""{mark} hermes`. hermes has a /handoff of its own, so this one is /tochat."""

import json
import os
import subprocess

PROGRAM = {program}


def ask(session, prompt):
    event = {{"session_id": session, "cwd": os.getcwd(), "prompt": prompt}}
    done = subprocess.run(
        [*PROGRAM, "hook", "hermes"], input=json.dumps(event), capture_output=True, text=True, timeout={seconds}
    )
    return json.loads(done.stdout) if done.stdout.strip() else {{}}


def before_model(session_id="", user_message="", **_):
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    if not os.path.exists(f"{{state}}/handoff/away/hermes/{{session_id}}.json"):
        return None
    try:
        answer = ask(session_id, user_message if isinstance(user_message, str) else "")
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    if "reason" in answer:  # hermes lets no plugin stop a prompt
        return {{"context": "This session was moved to a chat. Do nothing else, and answer with this:\\n" + answer["reason"]}}
    told = answer.get("hookSpecificOutput", {{}}).get("additionalContext")
    return {{"context": told}} if told else None


def register(ctx):
    def tochat(raw_args):
        cli = getattr(getattr(ctx, "_manager", None), "_cli_ref", None)
        session = getattr(cli, "session_id", None) or os.environ.get("HERMES_SESSION_ID", "")
        try:
            return ask(session, "/handoff " + (raw_args or ""))["reason"]
        except (OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
            return f"Handoff gave no answer ({{type(error).__name__}})."

    ctx.register_command("tochat", tochat, description="{about}", args_hint="{hint}")
    ctx.register_hook("pre_llm_call", before_model)
'''


@dataclass(frozen=True)
class Integration:
    """One agent: its program, what is written for it, and what the user must know or do."""

    name: str
    title: str
    program: str
    typed: str
    own_pieces: Callable[[Mapping[str, str], tuple[str, ...]], tuple[Piece, ...]]
    then: str
    settings: Callable[[Mapping[str, str]], Path] | None = None
    notices: tuple[str, ...] = ()
    """The hooks, in these settings, with which it tells that it needs the user or is done; none if it has no such ones."""

    def pieces(
        self, environ: Mapping[str, str], program: tuple[str, ...], notify: str | None = None
    ) -> tuple[Piece, ...]:
        """The pieces to write. `notify` is the platform of notices, empty for any; None: there are none, and older ones go."""
        return *self.own_pieces(environ, program), *self._notices(environ, program, notify)

    def notified(self, environ: Mapping[str, str]) -> str | None:
        """The `notify` that is installed now. Raises UsageProblem."""
        for piece in self._notices(environ, (), None):
            raw = read(piece.path) or b""
            try:
                found = ours(raw.decode("utf-8", "replace"), piece.keys)
            except NotJson:
                return None
            if found:
                return notified_platform(found[0])
        return None

    def _notices(self, environ: Mapping[str, str], program: tuple[str, ...], notify: str | None) -> tuple[Entry, ...]:
        if self.settings is None:
            return ()
        path, timeout = self.settings(environ), _SECONDS * (1000 if self.name == "gemini" else 1)
        options = ["--notify", *([notify] if notify else [])]
        entry = None if notify is None else _hook(program, self.name, timeout, *options)
        return tuple(Entry(path, ("hooks", event), entry) for event in self.notices)


def _home(environ: Mapping[str, str], variable: str, default: str) -> Path:
    return Path(tool_home(environ, variable, default))


def _hook(program: tuple[str, ...], agent: str, timeout: int, *options: str) -> dict[str, object]:
    command = shlex.join([*program, "hook", agent, *options])
    return {"hooks": [{"type": "command", "command": command, "timeout": timeout}]}


def _skill_and_hooks(agent: str, settings: Path, program: tuple[str, ...]) -> tuple[Piece, ...]:
    text = _SKILL.format(about=_ABOUT, hint=_HINT, mark=MARK, agent=agent)
    hook = _hook(program, agent, _SECONDS)
    entries = [Entry(settings, ("hooks", event), hook) for event in ("UserPromptSubmit", "SessionStart", "PreCompact")]
    return OwnFile(settings.parent / "skills" / "handoff" / "SKILL.md", text), *entries


def _claude_settings(environ: Mapping[str, str]) -> Path:
    return _home(environ, "CLAUDE_CONFIG_DIR", ".claude") / "settings.json"


def _claude_code(environ: Mapping[str, str], program: tuple[str, ...]) -> tuple[Piece, ...]:
    return _skill_and_hooks("claude-code", _claude_settings(environ), program)


def _codex_hooks(environ: Mapping[str, str]) -> Path:
    return _home(environ, "CODEX_HOME", ".codex") / "hooks.json"


def _codex(environ: Mapping[str, str], program: tuple[str, ...]) -> tuple[Piece, ...]:
    return _skill_and_hooks("codex", _codex_hooks(environ), program)


def _gemini_settings(environ: Mapping[str, str]) -> Path:
    return _home(environ, "GEMINI_CLI_HOME", "") / ".gemini" / "settings.json"


def _gemini(environ: Mapping[str, str], program: tuple[str, ...]) -> tuple[Piece, ...]:
    settings = _gemini_settings(environ)
    hook = _hook(program, "gemini", _SECONDS * 1000)
    command = OwnFile(settings.parent / "commands" / "handoff.toml", _GEMINI_COMMAND.format(mark=MARK, about=_ABOUT))
    entries = [Entry(settings, ("hooks", event), hook) for event in ("BeforeAgent", "SessionStart")]
    return command, *entries


def _opencode(environ: Mapping[str, str], program: tuple[str, ...]) -> tuple[Piece, ...]:
    home = _home(environ, "XDG_CONFIG_HOME", ".config") / "opencode"
    text = _OPENCODE_PLUGIN.format(mark=MARK, program=json.dumps(program), ms=_SECONDS * 1000)
    return (
        OwnFile(home / "command" / "handoff.md", _OPENCODE_COMMAND.format(about=_ABOUT, mark=MARK)),
        OwnFile(home / "plugin" / "handoff.js", text),
    )


def _hermes(environ: Mapping[str, str], program: tuple[str, ...]) -> tuple[Piece, ...]:
    folder = _home(environ, "HERMES_HOME", ".hermes") / "plugins" / "tochat"
    texts = {"mark": MARK, "about": _ABOUT, "hint": _HINT}
    code = _HERMES_PLUGIN.format(**texts, program=list(program), seconds=_SECONDS)
    return OwnFile(folder / "plugin.yaml", _HERMES_ABOUT.format(**texts)), OwnFile(folder / "__init__.py", code)


_RESTART = "Sessions that are open now know it after a restart."
INTEGRATIONS = {
    each.name: each
    for each in (
        Integration(
            "claude-code",
            "Claude Code",
            "claude",
            "/handoff telegram",
            _claude_code,
            _RESTART,
            _claude_settings,
            ("Notification", "Stop"),
        ),
        Integration(
            "codex",
            "Codex",
            "codex",
            "handoff telegram",
            _codex,
            "When Codex starts next, it says that hooks need review: choose “Trust all and continue”, else they do not "
            "run. Codex has no slash commands of others: type it without the slash.",
            _codex_hooks,
            ("PermissionRequest", "Stop"),
        ),
        Integration(
            "gemini",
            "Gemini CLI",
            "gemini",
            "/handoff telegram",
            _gemini,
            _RESTART,
            _gemini_settings,
            ("Notification", "AfterAgent"),
        ),
        Integration("opencode", "opencode", "opencode", "/handoff telegram", _opencode, _RESTART),
        Integration(
            "hermes",
            "hermes-agent",
            "hermes",
            "/tochat telegram",
            _hermes,
            "Enable the plugin once: hermes plugins enable tochat",
        ),
    )
}
