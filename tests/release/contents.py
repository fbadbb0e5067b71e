"""What a wheel and an sdist must hold, and what no file of theirs may be."""

import re
import tarfile
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path

from handoff_cli import __version__

NAME, EXTRAS = "handoff-live", {"server", "deploy", "runner"}
STEM = f"handoff_live-{__version__}"
_NEVER = re.compile(r"(^|/)(tests?|bench|docs|\.[a-z]\w*|__pycache__|node_modules)/|\.(pyc|db|env|log)$|(^|/)\.env")
"""Tests, caches, environments, data of a service: in no distribution."""
_CODE = "handoff_server/code"
_NEEDED = (
    "handoff_cli/__main__.py",
    "handoff_server/__main__.py",
    f"{_CODE}/requirements.txt",
    f"{_CODE}/local/operate/deploy/template.json",
    f"{_CODE}/local/server/__main__.py",
    f"{_CODE}/shared/domain/sessions.py",
    f"{STEM}.dist-info/licenses/LICENSE",
)


def problems_of_wheel(wheel: Path) -> Iterator[str]:
    """A sentence for each thing that is wrong."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(f"{STEM}.dist-info/METADATA").decode() if _has_metadata(names) else ""
        entry = archive.read(f"{STEM}.dist-info/entry_points.txt").decode() if metadata else ""
    if not metadata:
        yield f"it has no metadata of {STEM}"
        return
    yield from (f"{name} is missing" for name in _NEEDED if name not in names)
    yield from (f"{name} does not belong into it" for name in names if _NEVER.search(name))
    tops = {name.split("/")[0] for name in names} - {f"{STEM}.dist-info"}
    if tops != {"handoff_cli", "handoff_server"}:
        yield f"it adds {', '.join(sorted(tops))} to an environment"
    if "handoff = handoff_cli.__main__:start" not in entry:
        yield "it has no command handoff"
    yield from problems_of_metadata(metadata)


def problems_of_sdist(sdist: Path) -> Iterator[str]:
    """Whether it is complete shows itself: the wheel is built from it."""
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
    yield from (f"{name} is not below {STEM}" for name in names if not name.startswith(STEM))
    yield from (f"{name} does not belong into it" for name in names if _NEVER.search(name.removeprefix(STEM)))


def problems_of_metadata(text: str) -> Iterator[str]:
    """What an index shows, and what an installer needs."""
    found = Parser().parsestr(text)
    expected = {"Name": NAME, "Version": __version__, "License-Expression": "MIT", "Requires-Python": ">=3.11"}
    expected |= {"Description-Content-Type": "text/markdown"}
    yield from (f"{key} is {found[key]!r}, not {value!r}" for key, value in expected.items() if found[key] != value)
    if set(found.get_all("Provides-Extra") or ()) != EXTRAS:
        yield f"its extras are not {', '.join(sorted(EXTRAS))}"
    yield from (f"it has no {key}" for key in ("Summary", "Keywords", "Classifier") if not found[key])
    pinned = [each for each in found.get_all("Requires-Dist") or () if " @ " in each]
    yield from (f"it needs {each}, which no index takes" for each in pinned)
    if "# Handoff" not in str(found.get_payload()):
        yield "its description is not the README"


def _has_metadata(names: list[str]) -> bool:
    return {f"{STEM}.dist-info/METADATA", f"{STEM}.dist-info/entry_points.txt"} <= set(names)
