"""A program that tells a version and a configuration as opencode does; tests/real_agents compares it with the real one."""

import json
import os
import sys
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def merged(below: Json, above: Json) -> Json:
    """A name keeps the place at which it came first."""
    made = dict(below)
    for name, value in above.items():
        known = made.get(name)
        made[name] = merged(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return made


def configuration() -> Json:
    """Of the user, of the project, of the environment; what `MANAGED` has cannot be changed by any of them."""
    found: Json = {}
    for path in (Path(os.environ["HOME"]) / ".config" / "opencode" / "opencode.json", Path("opencode.json")):
        found = merged(found, _parsed(path.read_text() if path.exists() else ""))
    found = merged(found, _parsed(os.environ.get("OPENCODE_CONFIG_CONTENT", "")))
    found["permission"] = merged(found.get("permission") or {}, _parsed(os.environ.get("OPENCODE_PERMISSION", "")))
    return merged(found, _parsed(os.environ.get("MANAGED", "")))


def _parsed(text: str) -> Json:
    """One source. A rule for everything is one with a name."""
    value: Json = json.loads(text or "{}")
    rule = value.get("permission")
    return {**value, "permission": {"*": rule}} if isinstance(rule, str) else value


if __name__ == "__main__":
    sys.stdout.write(
        json.dumps(configuration()) if sys.argv[1:] == ["debug", "config"] else os.environ.get("VERSION", "1.18.33")
    )
