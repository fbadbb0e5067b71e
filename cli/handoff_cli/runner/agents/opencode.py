"""Asking of opencode: rules for its permissions in its environment, read back as part of its resolved configuration.

The last rule that matches decides, and a rule keeps the place at which it was named first: in a global file, in the
project's, in the environment. So a rule for everything alone does not make it ask.
"""

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from handoff_cli.runner.agents.spec import DoesNotAsk
from handoff_cli.runner.outgoing.names import OPENCODE_NAME

_SECONDS = 60
_PERMISSION, _CONTENT = "OPENCODE_PERMISSION", "OPENCODE_CONFIG_CONTENT"
_ALL, _ALLOW, _ASK, _DENY = "*", "allow", "ask", "deny"
# As with the other agents, looking at files of the project is not asked for. What lies outside is another permission.
# The runner itself asks before a file is sent where others read along.
_QUIET: Mapping[str, Any] = {
    "read": {_ALL: _ALLOW, "*.env": _ASK, "*.env.*": _ASK},
    **dict.fromkeys(("glob", "grep", "list", "todoread", "todowrite", OPENCODE_NAME), _ALLOW),
}

Json = dict[str, Any]
Rule = tuple[str, str, object]
"""A permission, a pattern, and what is done."""


def asking_environ(program: str, environ: Mapping[str, str], directory: Path) -> dict[str, str]:
    """The variables with which opencode asks before each step in this directory. Raises DoesNotAsk.

    What the user denies stays denied.
    """
    forced = _forced(environ, _resolved(program, environ, directory))
    if unasked := _unasked(_resolved(program, {**environ, **forced}, directory)):
        raise DoesNotAsk(f"its configuration in {directory} does not make it ask for {unasked}")
    return forced


def _resolved(program: str, environ: Mapping[str, str], directory: Path) -> Json:
    """The configuration as opencode itself merges it."""
    try:
        done = subprocess.run(  # noqa: S603 - the user's own program, with fixed arguments
            [program, "debug", "config"],
            env=dict(environ),
            cwd=directory,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=True,
        )
        found = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError, RecursionError) as error:
        raise DoesNotAsk(f"it does not tell its configuration in {directory} ({type(error).__name__})") from error
    if not isinstance(found, dict):
        raise DoesNotAsk(f"its configuration in {directory} cannot be read")
    return found


def _forced(environ: Mapping[str, str], found: Json) -> dict[str, str]:
    """Rules that ask, after those of the user, and for each rule of theirs that allows something."""
    known = found.get("permission")
    permission = known if isinstance(known, dict) else {}
    quiet = {name: rule for name, rule in _QUIET.items() if name not in permission}
    rules = {**_asking(permission), _ALL: _ASK, **quiet, **_denying(permission)}
    forced = {_PERMISSION: json.dumps(_merged(_parsed(environ.get(_PERMISSION)), rules))}
    agents = {
        name: {"permission": asking}
        for name, agent in _agents(found).items()
        if isinstance(agent.get("permission"), dict) and (asking := _asking(agent["permission"]))
    }
    if agents:
        forced[_CONTENT] = json.dumps(_merged(_parsed(environ.get(_CONTENT)), {"agent": agents}))
    return forced


def _asking(permission: Json) -> Json:
    """The rules that allow something, asking instead."""
    asking: Json = {}
    for name, value in permission.items():
        if name in _QUIET:
            continue
        if value == _ALLOW:
            asking[name] = _ASK
        elif isinstance(value, dict) and (patterns := [one for one, action in value.items() if action == _ALLOW]):
            asking[name] = dict.fromkeys(patterns, _ASK)
    return asking


def _denying(permission: Json) -> Json:
    """The user's denials under a name of another spelling, which comes after the rule for everything."""
    denying: Json = {}
    for name, value in permission.items():
        if value == _DENY:
            denying[f"{name}*"] = _DENY
        elif isinstance(value, dict) and (patterns := [one for one, action in value.items() if action == _DENY]):
            denying[f"{name}*"] = dict.fromkeys(patterns, _DENY)
    return denying


def _unasked(found: Json) -> str:
    """The name of a permission that is not asked for; empty if there is none."""
    rules = list(_rules(found.get("permission")))
    last = max((at for at, (name, pattern, _) in enumerate(rules) if (name, pattern) == (_ALL, _ALL)), default=None)
    if last is None or rules[last][2] not in {_ASK, _DENY}:
        return "everything"
    later = [
        *rules[last:],
        *(rule for agent in _agents(found).values() for rule in _rules(agent.get("permission", {}))),
    ]
    return next((name for name, _, action in later if action not in {_ASK, _DENY} and name not in _QUIET), "")


def _rules(permission: object) -> Iterator[Rule]:
    """In their order. What is no rule is one that does not ask."""
    for name, value in permission.items() if isinstance(permission, dict) else [(_ALL, permission)]:
        for pattern, action in value.items() if isinstance(value, dict) else [(_ALL, value)]:
            yield name, pattern, action if isinstance(action, str) else None


def _agents(found: Json) -> dict[str, Json]:
    agents = found.get("agent")
    return (
        {name: agent for name, agent in agents.items() if isinstance(agent, dict)} if isinstance(agents, dict) else {}
    )


def _merged(below: Json, above: Json) -> Json:
    """Both, as opencode merges them: a name keeps its place."""
    merged = dict(below)
    for name, value in above.items():
        known = merged.get(name)
        merged[name] = _merged(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return merged


def _parsed(text: str | None) -> Json:
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
