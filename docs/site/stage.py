"""The files of the site: the Markdown of the repository where the site's generator finds it, with links between its pages."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
CONFIGURATION = Path(__file__).with_name("zensical.toml")
OF_ROOT = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
"""Pages that GitHub expects at the root; README.md is not one: docs/index.md is its long form."""
_ASSETS = {".md", ".svg", ".png", ".css", ".txt", ".json"}
_LINK = re.compile(r"(\]\()(?![a-z]+:|#)([^)#\s]+)")


def pages() -> Iterator[tuple[Path, PurePosixPath]]:
    """Each file of the site: where it is, and its path there."""
    docs = ROOT / "docs"
    for name in OF_ROOT:
        yield ROOT / name, PurePosixPath(name)
    for path in sorted(docs.rglob("*")):
        inside = path.relative_to(docs)
        if path.suffix in _ASSETS and inside.parts[0] not in {"recording", "site"}:
            yield path, PurePosixPath(inside.as_posix())


def stage(directory: Path) -> None:
    """Write the configuration and the pages into a directory, which is emptied before."""
    shutil.rmtree(directory, ignore_errors=True)
    places = dict(pages())
    for source, place in places.items():
        target = directory / "docs" / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            target.write_text(linked(source.read_text(), source, places))
        else:
            shutil.copy(source, target)
    shutil.copy(CONFIGURATION, directory / CONFIGURATION.name)


def linked(text: str, source: Path, places: dict[Path, PurePosixPath]) -> str:
    """The text of a page, whose links lead to the other pages on the site. A link beyond it stays, and the build fails."""
    here = places[source].parent

    def moved(found: re.Match[str]) -> str:
        place = places.get((source.parent / found[2]).resolve())
        return found[0] if place is None else found[1] + os.path.relpath(place, here)

    return _LINK.sub(moved, text)
