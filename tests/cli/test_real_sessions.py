"""Files that the real programs wrote (with a model that tells what it saw), read as the model had seen them."""

import json
import os
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from handoff_cli.errors import UsageProblem
from handoff_cli.readers.claude_code.find import folder_name
from handoff_cli.readers.read import read_session
from handoff_cli.readers.source import Source
from tests.cli.conftest import Run, User

SAMPLES = Path(__file__).parent / "samples"
WORK = Path("/home/me/work")


def _read(tool: str, path: Path) -> list[tuple[str, str]]:
    """(role, text or names of calls), with the model's long answers as `answer`."""
    return _short(read_session(tool, Source(WORK, {}, path)).messages)


def _short(messages: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(message["role"], _text(message)) for message in messages]


def _text(message: dict[str, Any]) -> str:
    calls = ",".join(call["id"] for call in message.get("tool_calls", []))
    text = re.sub(r"(?s)^(Fake answer|Tool said).*", r"\1", message["content"] or "")
    return " ".join(filter(None, (text, calls)))


def _user(messages: list[tuple[str, str]]) -> list[str]:
    return [text for role, text in messages if role == "user"]


FAKE = ("assistant", "Fake answer")
TOOL = ("assistant", "Tool said")

CLAUDE = {
    # Two terminals on one session: the branch of the last prompt counts.
    "cccon-11111111": [("user", "tui one"), FAKE, ("user", "tui two"), FAKE, ("user", "what now"), FAKE],
    # Parallel calls, a helper's notification, a compaction.
    "ccpar-5e5d3f58": [
        ("user", "par: echo step"),
        ("assistant", "I call Bash now. toolu_000001_1,toolu_000001_2,toolu_000001_3"),
        ("tool", "step 3"),
        ("tool", "step 1"),
        ("tool", "step 2"),
        TOOL,
        ("user", "agent: run: echo from-helper"),
        ("assistant", "I call Agent now. toolu_000003_1"),
        ("tool", "Async agent launched"),
        TOOL,
        FAKE,
        ("user", "and after"),
        FAKE,
        ("user", "after compaction"),
        FAKE,
    ],
    # Words typed while the agent worked.
    "ccq-fb77830d": [
        ("user", "run: sleep 6; echo slept"),
        ("assistant", "I call Bash now. toolu_000012_1"),
        ("tool", "slept"),
        ("user", "QUEUED words typed meanwhile"),
        TOOL,
        ("user", "last one"),
        FAKE,
    ],
    # Rewound by two questions.
    "ccrw-0035a0f1": [
        ("user", "question one"),
        FAKE,
        ("user", "KEPT question two"),
        FAKE,
        ("user", "what do you see"),
        FAKE,
    ],
    # A shell command of the user that the model answered, and an interruption.
    "cctui-2b22d562": [
        ("user", "hello from the tui"),
        FAKE,
        ("user", "run: echo hi > tfile; echo t1"),
        ("assistant", "I call Bash now. toolu_000007"),
        ("tool", "t1"),
        TOOL,
        ("user", "! echo bang\nbang"),
        FAKE,
        ("user", "slow: 50"),
        ("assistant", "piece 0 piece 1 piece 2 piece 3 piece 4 piece 5 piece 6 piece 7 piece 8 piece 9 "),
    ],
    # Prompts that a hook blocked never reached the model.
    "slash-25f1de60": [("user", "words"), FAKE, ("user", "host words"), FAKE],
    # Slash commands that the model answered.
    "slash-68dac5b5": [
        ("user", "first words"),
        FAKE,
        ("user", "/handoff telegram"),
        FAKE,
        ("user", "/handoff2 slack"),
        FAKE,
    ],
}


@pytest.mark.parametrize("name", CLAUDE)
def test_claude_code_gives_the_live_branch(name: str) -> None:
    found = _read("claude-code", SAMPLES / "claude" / f"{name}.jsonl")
    assert [(role, text.partition(" successfully")[0]) for role, text in found] == CLAUDE[name]


def _branches(path: Path, *later: dict[str, Any]) -> list[str]:
    """What the user said on the live branch of `cccon`, after further records."""
    first = (SAMPLES / "claude" / "cccon-11111111.jsonl").read_text().splitlines()
    chat_turn = next(at for at, line in enumerate(first) if "ai-title" in line)
    path.write_text("\n".join([*first[:chat_turn], *map(json.dumps, later)]))
    return _user(_read("claude-code", path))


def _record(kind: str, uuid: str, parent: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "message": {"role": kind, "content": content}, **more}


FORK = "3e9ff9d7-f0e6-47cb-91d7-517550ad8cb1"
CHAT_ANSWER = "d32c303b-a363-4b50-8800-36d9c91e9867"


def test_commands_in_a_stale_terminal_do_not_move_the_branch(tmp_path: Path) -> None:
    said = _branches(
        tmp_path / "stale.jsonl",
        _record("user", "b1", FORK, "<bash-input>ls</bash-input>"),
        _record("user", "b2", "b1", "<bash-stdout>x</bash-stdout><bash-stderr></bash-stderr>"),
        _record("assistant", "b3", "b2", [{"type": "text", "text": "I see x."}]),
    )
    assert said == ["tui one", "chat one"]


def test_a_prompt_in_a_stale_terminal_moves_the_branch(tmp_path: Path) -> None:
    assert _branches(tmp_path / "x.jsonl", _record("user", "p1", FORK, "go on")) == ["tui one", "go on"]


def test_a_stale_command_keeps_what_followed_the_last_prompt(tmp_path: Path) -> None:
    said = _branches(
        tmp_path / "x.jsonl",
        _record("user", "p1", CHAT_ANSWER, "more in the chat"),
        _record("user", "b1", FORK, "<local-command-stdout>x</local-command-stdout>"),
    )
    assert said == ["tui one", "chat one", "more in the chat"]


def test_words_queued_last_are_part_of_the_branch(tmp_path: Path) -> None:
    attached = {"type": "queued_command", "prompt": "one more", "commandMode": "prompt", "origin": {"kind": "human"}}
    queued = {"type": "attachment", "uuid": "q1", "parentUuid": CHAT_ANSWER, "attachment": attached}
    by_program = {**queued, "uuid": "q2", "attachment": {**attached, "origin": {"kind": "task-notification"}}}
    assert _branches(tmp_path / "x.jsonl", queued, by_program) == ["tui one", "chat one", "one more"]


def test_a_damaged_line_does_not_cost_the_beginning(tmp_path: Path) -> None:
    assert _branches(tmp_path / "x.jsonl", _record("user", "p1", "lost", "later")) == ["tui one", "chat one", "later"]


def test_the_persons_words_about_an_interruption_are_kept(tmp_path: Path) -> None:
    words = "[Request interrupted by user] is what it says. Why?"
    assert _branches(tmp_path / "x.jsonl", _record("user", "p1", CHAT_ANSWER, words))[-1] == words


def test_a_summary_without_its_past_is_kept_as_context(tmp_path: Path) -> None:
    path = tmp_path / "compacted.jsonl"
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "c1", "parentUuid": None}
    summary = _record("user", "s1", "c1", "What was done: …", isCompactSummary=True)
    path.write_text("\n".join(map(json.dumps, [boundary, summary, _record("user", "p1", "s1", "go on")])))
    assert _read("claude-code", path) == [("system", "What was done: …"), ("user", "go on")]


def test_a_long_path_has_its_own_folder_name() -> None:
    assert folder_name(Path("/srv/ä_b.c")) == "-srv---b-c"
    long = Path("/srv") / ("x" * 210)
    name = folder_name(long)
    assert name.startswith("-srv-" + "x" * 195 + "-")
    assert int(name[201:], 36) == _hash(str(long))


def _hash(text: str) -> int:
    """`h = (h << 5) - h + c | 0`, then Math.abs, with 32-bit integers."""
    total = 0
    for character in text:
        total = ((total << 5) - total + ord(character)) & 0xFFFFFFFF
    return abs(total - 2**32 if total >= 2**31 else total)


def _codex(home: Path) -> Source:
    folder = home / ".codex" / "sessions" / "2026" / "11" / "16"
    folder.mkdir(parents=True)
    for at, sample in enumerate(sorted((SAMPLES / "codex").iterdir())):
        os.utime(shutil.copy(sample, folder), (1_000 + at, 1_000 + at))
    return Source(WORK / "cxrw2", {"HOME": str(home)})


REWOUND = "01a1e50d-9773-7851-8516-f797ebc0861c"
FORKED = "01a1e50e-32c7-7dd1-884b-3123f3cdc740"
RUNS = ["plain resume", "host speaks", "terminal after the host", "no daemon", "after quit"]


@pytest.mark.parametrize(
    ("session", "said"),
    [
        (REWOUND, ["q one", "kept two", "kept three", *RUNS]),
        (FORKED, ["q one", "kept two", "kept three", "in the fork"]),
        ("01a1e524", ["words", "! echo bang\nbang", "run: sleep 5; echo slept", "STEERED words meanwhile"]),
        ("01a1e51e-1dcc", ["my own words"]),
        ("01a1e51e-2308", ["/review"]),
    ],
)
def test_codex_gives_the_whole_thread(tmp_path: Path, session: str, said: list[str]) -> None:
    source = _codex(tmp_path)
    transcript = read_session("codex", Source(source.directory, source.environ, session=session))
    assert _user(_short(transcript.messages)) == said
    assert [m["role"] for m in transcript.messages].count("assistant") >= len(said) - 1
    assert transcript.notes == ()


def test_codex_takes_the_newest_thread_of_the_directory(tmp_path: Path) -> None:
    source = _codex(tmp_path)
    assert _user(_short(read_session("codex", source).messages))[-1] == "in the fork"


def test_codex_never_takes_a_sub_agent_for_the_session(tmp_path: Path) -> None:
    source = _codex(tmp_path)
    transcript = read_session("codex", Source(WORK / "cxrev", source.environ))
    assert _user(_short(transcript.messages)) == ["/review"]


def test_codex_says_that_the_base_is_missing(tmp_path: Path) -> None:
    path = next((SAMPLES / "codex").glob(f"*{FORKED}.jsonl"))
    transcript = read_session("codex", Source(WORK, {"HOME": str(tmp_path)}, Path(shutil.copy(path, tmp_path))))
    assert _user(_short(transcript.messages)) == ["in the fork"]
    assert "beginning of this session" in transcript.notes[0]


def _item(role: str, text: str) -> dict[str, Any]:
    payload = {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}
    return {"type": "response_item", "payload": payload}


def test_codex_summaries_and_rolled_back_turns_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "rollout-1.jsonl"
    rows = [
        _item("user", "one"),
        _item("assistant", "first"),
        _item("assistant", "Summary: one was asked."),
        {"type": "compacted", "payload": {"message": "Another model began this.\nSummary: one was asked."}},
        _item("user", "taken back"),
        _item("assistant", "never mind"),
        {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}},
        _item("user", "two"),
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    assert _read("codex", path) == [("user", "one"), ("assistant", "first"), ("user", "two")]


GEMINI = [
    ("user", "hello gemini"),
    FAKE,
    ("user", "run: echo from-gemini"),
    ("assistant", "run_shell_command__run_shell_command_1794867906542_0"),
    ("tool", "<untrusted_context>\nOutput: from-gemini\nProcess Group PGID: 19690\n</untrusted_context>"),
    TOOL,
    ("user", "and after"),
    FAKE,
]


@pytest.fixture
def gemini(tmp_path: Path) -> Source:
    folder = tmp_path / ".gemini" / "tmp" / "gem"
    (folder / "chats").mkdir(parents=True)
    (folder / ".project_root").write_text("/home/me/work/gem")
    (sample,) = (SAMPLES / "gemini").iterdir()
    os.utime(shutil.copy(sample, folder / "chats"), (1_000, 1_000))
    # A resume leaves a newer file with a header and no words.
    (folder / "chats" / "session-2026-11-16T22-25-8979fdff.jsonl").write_text(sample.read_text().splitlines()[0])
    return Source(WORK / "gem", {"HOME": str(tmp_path)})


def test_gemini_gives_the_messages_after_all_changes(gemini: Source) -> None:
    transcript = read_session("gemini", gemini)
    assert _short(transcript.messages) == GEMINI
    assert transcript.model == "gemini-3.8-flash"
    named = Source(WORK, gemini.environ, session="8979fdff")
    assert read_session("gemini", named).messages == transcript.messages


def test_gemini_rewinds_to_a_message(gemini: Source, tmp_path: Path) -> None:
    (sample,) = (SAMPLES / "gemini").iterdir()
    path = tmp_path / "rewound.jsonl"
    path.write_text(sample.read_text() + '{"$rewindTo": "9deb942e-0d8a-48ef-8bdf-84603411253e"}\n')
    assert _read("gemini", path) == GEMINI[:6]


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
    assert _read("opencode", SAMPLES / "opencode" / f"{name}.json") == messages


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
    assert _short(transcript.messages) == OPENCODE
    assert (transcript.title, transcript.model, transcript.cwd) == ("Fake title", "fake-1", "/home/me/work/oc")
    named = Source(WORK, opencode.environ, session=SESSION)
    assert read_session("opencode", named).messages == transcript.messages


def _claude(home: Path, project: Path, *sessions: str) -> None:
    folder = home / ".claude" / "projects" / folder_name(project)
    folder.mkdir(parents=True)
    for at, session in enumerate(sessions):
        path = folder / f"{session}.jsonl"
        path.write_text(json.dumps(_record("user", "u", "", f"words of {session}")))
        os.utime(path, (1_000 + at, 1_000 + at))


def _open(home: Path, answer: str) -> dict[str, str]:
    """An environment with a `claude` that gives this answer to `claude agents --json`."""
    program = home / "bin" / "claude"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\n[ \"$*\" = 'agents --json' ] || exit 9\ncat <<'E'\n{answer}\nE\n")
    program.chmod(0o755)
    return {"HOME": str(home), "PATH": f"{program.parent}:{os.environ['PATH']}"}


def _agents(*pairs: tuple[str, Path]) -> str:
    return json.dumps([{"sessionId": s, "cwd": str(cwd), "pid": 1, "status": "idle"} for s, cwd in pairs])


def _said(source: Source) -> list[str]:
    return _user(_short(read_session("claude-code", source).messages))


def test_claude_code_prefers_the_session_that_is_open(tmp_path: Path) -> None:
    _claude(tmp_path, WORK, "aaaa", "bbbb", "cccc")
    environ = _open(tmp_path, _agents(("aaaa", WORK), ("cccc", WORK / "other"), ("gone", WORK)))
    assert _said(Source(WORK, environ)) == ["words of aaaa"]


def test_several_open_sessions_are_listed(tmp_path: Path) -> None:
    _claude(tmp_path, WORK, "aaaa", "bbbb", "cccc")
    environ = _open(tmp_path, _agents(("aaaa", WORK), ("bbbb", WORK)))
    with pytest.raises(UsageProblem, match=r"bbbb, aaaa\. Choose one with --from claude-code:ID"):
        read_session("claude-code", Source(WORK, environ))
    assert _said(Source(WORK, environ, session="bbbb")) == ["words of bbbb"]


@pytest.mark.parametrize("answer", ["", "[]", "not JSON", "{}", "[1]", '[{"cwd": 1}]'])
def test_without_an_open_session_the_newest_counts(tmp_path: Path, answer: str) -> None:
    _claude(tmp_path, WORK, "aaaa", "bbbb")
    assert _said(Source(WORK, _open(tmp_path, answer))) == ["words of bbbb"]


@pytest.mark.parametrize(("wanted", "said"), [("a1", "2 sessions begin with a1: a1b, a1c"), ("z", "no session z")])
def test_an_unclear_id_is_said_with_what_to_type(tmp_path: Path, wanted: str, said: str) -> None:
    _claude(tmp_path, WORK, "a1b", "a1c", "b2")
    with pytest.raises(UsageProblem, match=said) as refused:
        read_session("claude-code", Source(WORK, {"HOME": str(tmp_path)}, session=wanted))
    assert "--from claude-code" in str(refused.value)


def test_send_takes_a_session_id_from_any_directory(run: Run, user: User, tmp_path: Path) -> None:
    _claude(tmp_path / "home", WORK, "aaaa-1", "bbbb-1")
    done = run("send", "telegram", "--from", "claude-code:aaaa", "--json")
    assert done.returncode == 0, done.stderr
    (session,) = user.sessions
    assert next(m["content"] for m in user.api.messages(session["id"])) == "words of aaaa-1"


@pytest.mark.parametrize("source", ["claude-code:", "nope", "nope:1"])
def test_an_unknown_source_is_refused(run_alone: Run, source: str) -> None:
    done = run_alone("send", "telegram", "--from", source)
    assert (done.returncode, "claude-code" in done.stderr) == (2, True)


def test_a_stored_session_and_a_tool_exclude_each_other(run_alone: Run) -> None:
    done = run_alone("send", "telegram", "--from", "codex", "--session", "x", HANDOFF_URL="http://127.0.0.1:1")
    assert (done.returncode, "--from TOOL:ID" in done.stderr) == (2, True)
