"""Sessions of Claude Code are read as the model had seen them."""

import json
from pathlib import Path
from typing import Any

import pytest

from handoff_cli.readers.claude_code.find import folder_name
from tests.cli.readers.real_sessions import FAKE, SAMPLES, TOOL, read, record, said_by_user

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
    found = read("claude-code", SAMPLES / "claude" / f"{name}.jsonl")
    assert [(role, text.partition(" successfully")[0]) for role, text in found] == CLAUDE[name]


def _branches(path: Path, *later: dict[str, Any]) -> list[str]:
    """What the user said on the live branch of `cccon`, after further records."""
    first = (SAMPLES / "claude" / "cccon-11111111.jsonl").read_text().splitlines()
    chat_turn = next(at for at, line in enumerate(first) if "ai-title" in line)
    path.write_text("\n".join([*first[:chat_turn], *map(json.dumps, later)]))
    return said_by_user(read("claude-code", path))


FORK = "3e9ff9d7-f0e6-47cb-91d7-517550ad8cb1"
CHAT_ANSWER = "d32c303b-a363-4b50-8800-36d9c91e9867"


def test_commands_in_a_stale_terminal_do_not_move_the_branch(tmp_path: Path) -> None:
    said = _branches(
        tmp_path / "stale.jsonl",
        record("user", "b1", FORK, "<bash-input>ls</bash-input>"),
        record("user", "b2", "b1", "<bash-stdout>x</bash-stdout><bash-stderr></bash-stderr>"),
        record("assistant", "b3", "b2", [{"type": "text", "text": "I see x."}]),
    )
    assert said == ["tui one", "chat one"]


def test_a_prompt_in_a_stale_terminal_moves_the_branch(tmp_path: Path) -> None:
    assert _branches(tmp_path / "x.jsonl", record("user", "p1", FORK, "go on")) == ["tui one", "go on"]


def test_a_stale_command_keeps_what_followed_the_last_prompt(tmp_path: Path) -> None:
    said = _branches(
        tmp_path / "x.jsonl",
        record("user", "p1", CHAT_ANSWER, "more in the chat"),
        record("user", "b1", FORK, "<local-command-stdout>x</local-command-stdout>"),
    )
    assert said == ["tui one", "chat one", "more in the chat"]


def test_words_queued_last_are_part_of_the_branch(tmp_path: Path) -> None:
    attached = {"type": "queued_command", "prompt": "one more", "commandMode": "prompt", "origin": {"kind": "human"}}
    queued = {"type": "attachment", "uuid": "q1", "parentUuid": CHAT_ANSWER, "attachment": attached}
    by_program = {**queued, "uuid": "q2", "attachment": {**attached, "origin": {"kind": "task-notification"}}}
    assert _branches(tmp_path / "x.jsonl", queued, by_program) == ["tui one", "chat one", "one more"]


def test_a_damaged_line_does_not_cost_the_beginning(tmp_path: Path) -> None:
    assert _branches(tmp_path / "x.jsonl", record("user", "p1", "lost", "later")) == ["tui one", "chat one", "later"]


def test_the_persons_words_about_an_interruption_are_kept(tmp_path: Path) -> None:
    words = "[Request interrupted by user] is what it says. Why?"
    assert _branches(tmp_path / "x.jsonl", record("user", "p1", CHAT_ANSWER, words))[-1] == words


def test_words_of_a_program_are_told_by_their_origin(tmp_path: Path) -> None:
    by_program = record("user", "p1", CHAT_ANSWER, "The helper is done.", origin={"kind": "task-notification"})
    typed = record("user", "p2", "p1", "The helper is done?", origin={"kind": "human"})
    assert _branches(tmp_path / "x.jsonl", by_program, typed) == ["tui one", "chat one", "The helper is done?"]


def test_a_summary_without_its_past_is_kept_as_context(tmp_path: Path) -> None:
    path = tmp_path / "compacted.jsonl"
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "c1", "parentUuid": None}
    summary = record("user", "s1", "c1", "What was done: …", isCompactSummary=True)
    path.write_text("\n".join(map(json.dumps, [boundary, summary, record("user", "p1", "s1", "go on")])))
    assert read("claude-code", path) == [("system", "What was done: …"), ("user", "go on")]


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
