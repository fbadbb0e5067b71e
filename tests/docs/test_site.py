"""The site: every page is in its navigation, its reference is current, and it builds strictly."""

import os
import re
import subprocess
import tomllib
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from docs.site import commands
from docs.site.__main__ import PROGRAM
from docs.site.stage import CONFIGURATION, ROOT, linked, pages, stage

CONFIGURED = tomllib.loads(CONFIGURATION.read_text())["project"]
ORDER = ["Start", "Use", "Run", "Extend", "Reference"]


def named(entries: Any) -> list[str]:
    if isinstance(entries, str):
        return [entries]
    return [page for entry in entries for value in entry.values() for page in named(value)]


def test_each_page_is_in_the_navigation_once() -> None:
    listed = named(CONFIGURED["nav"])
    linked_there = re.findall(r"\]\(([\w-]+\.md)\)", (ROOT / "docs/decisions/README.md").read_text())
    decisions = {f"decisions/{name}" for name in linked_there}
    markdown = {str(place) for _, place in pages() if place.suffix == ".md"}
    assert len(listed) == len(set(listed))
    assert markdown - decisions == set(listed)
    assert decisions <= markdown


def test_the_pages_come_in_the_order_in_which_they_are_needed() -> None:
    assert [title for entry in CONFIGURED["nav"] for title in entry] == ORDER


def test_the_reference_of_the_commands_is_current() -> None:
    assert commands.FILE.read_text() == commands.rendered(), "run: make commands"


def test_links_follow_pages_that_are_elsewhere_on_the_site() -> None:
    places = {ROOT / "docs/data.md": PurePosixPath("data.md"), ROOT / "SECURITY.md": PurePosixPath("SECURITY.md")}
    given = "[a](../SECURITY.md#x), [b](https://example.org/x.md), [c](#d), [e](../template.yaml)"
    assert linked(given, ROOT / "docs/data.md", places) == given.replace("../SECURITY", "SECURITY")
    assert linked("[a](docs/data.md)", ROOT / "SECURITY.md", places) == "[a](data.md)"


def test_a_picture_is_a_png_without_more_in_it() -> None:
    """Written by `make screenshots`."""
    pictures = [*(ROOT / "docs/screenshots").glob("*.png")]
    assert len(pictures) == 4
    assert [path.name for path in pictures if not path.read_bytes().startswith(b"\x89PNG")] == []
    assert [path.name for path in pictures if path.stat().st_size > 300_000] == []


@pytest.mark.skipif(not PROGRAM.exists(), reason="needs the site's generator: make site")
def test_it_builds_strictly_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    stage(tmp_path / "site")
    assert build(tmp_path / "site") == (0, True)
    html = [*(tmp_path / "site" / "html").rglob("*.html")]
    assert len(html) > len(named(CONFIGURED["nav"]))
    loaded = re.compile(r"<(?:script|img|link|iframe)\b[^>]*\b(?:src|href)=\"?https?://")
    assert [page.name for page in html if loaded.search(page.read_text())] == []


@pytest.mark.skipif(not PROGRAM.exists(), reason="needs the site's generator: make site")
def test_a_link_that_leads_nowhere_fails_it(tmp_path: Path) -> None:
    stage(tmp_path / "site")
    with (tmp_path / "site" / "docs" / "index.md").open("a") as page:
        page.write("\n[nowhere](nowhere.md)\n")
    assert build(tmp_path / "site") != (0, True)


def build(directory: Path) -> tuple[int, bool]:
    """The exit code, and whether nothing was warned of."""
    done = subprocess.run(
        [PROGRAM, "build", "--strict", "--clean"],
        cwd=directory,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, "Warning" not in done.stdout + done.stderr
