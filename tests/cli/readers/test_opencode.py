"""Sessions of opencode are read as the model had seen them."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from handoff_cli.readers.read import read_session
from handoff_cli.readers.source import Source
from tests.cli.readers.real_sessions import FAKE, SAMPLES, TOOL, WORK, read, shortened

OPENCODE = [
    ("user", '"hello opencode"'),
    FAKE,
    ("user", '"run: echo from-opencode"'),
    FAKE,
    ("user", '"and after"'),
    FAKE,
    ("user", "run: echo from-opencode\n"),
    ("assistant", "call_000012"),
    ("tool", "from-opencode\n"),
    TOOL,
]
LATER = [
    ("user", "KEPT words"),
    FAKE,
    ("assistant", "01M7K8R0D0SK1GAVNA5BJ7C0PY"),
    ("tool", "bang\n"),
    ("user", "after compaction"),
    FAKE,
]
SESSION = "ses_e198a56b3ffe6dv8o1JstHSYlG"


@pytest.mark.parametrize(("name", "messages"), [("reverted", OPENCODE), ("final", [*OPENCODE, *LATER])])
def test_opencode_exports_are_read_without_undone_words(name: str, messages: list[tuple[str, str]]) -> None:
    assert read("opencode", SAMPLES / "opencode" / f"{name}.json") == messages


@pytest.fixture
def opencode(tmp_path: Path) -> Source:
    """The database of opencode with the columns that matter, filled from an export."""
    path = tmp_path / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True)
    exported = json.loads((SAMPLES / "opencode" / "reverted.json").read_text())
    with closing(sqlite3.connect(path)) as database:
        database.executescript(
            "CREATE TABLE session (id, parent_id, directory, title, revert, time_updated, time_archived);"
            "CREATE TABLE message (id, session_id, time_created, data);"
            "CREATE TABLE part (id, message_id, session_id, data);"
        )
        info = exported["info"]
        row = [SESSION, None, info["directory"], info["title"], json.dumps(info["revert"]), 5, None]
        database.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        helper = ["ses_helper", SESSION, info["directory"], "helper", None, 9, None]
        database.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?)", helper)
        for record in exported["messages"]:
            about = record["info"]
            row = [about["id"], SESSION, about["time"]["created"], json.dumps(about)]
            database.execute("INSERT INTO message VALUES (?, ?, ?, ?)", row)
            for part in record["parts"]:
                row = [part["id"], about["id"], SESSION, json.dumps(part)]
                database.execute("INSERT INTO part VALUES (?, ?, ?, ?)", row)
        database.execute("INSERT INTO message SELECT 'h', 'ses_helper', 1, data FROM message LIMIT 1")
        database.commit()
    return Source(WORK / "oc", {"HOME": str(tmp_path)})


def test_opencode_takes_the_newest_session_that_is_no_helpers(opencode: Source) -> None:
    transcript = read_session("opencode", opencode)
    assert shortened(transcript.messages) == OPENCODE
    assert (transcript.title, transcript.model, transcript.cwd) == ("Fake title", "fake-1", "/home/me/work/oc")
    named = Source(WORK, opencode.environ, session=SESSION)
    assert read_session("opencode", named).messages == transcript.messages
