"""`handoff --help`: the commands in groups."""

import re

from handoff_cli.arguments import GROUPS, parser
from tests.cli.conftest import Run

NOT_LISTED = {"hook"}  # agents call it, not people


def test_every_command_is_in_exactly_one_group() -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(parser("handoff").commands.keys() - NOT_LISTED)


def test_help_lists_each_group_with_what_its_commands_do(run_alone: Run) -> None:
    shown = run_alone("--help").stdout
    sections = re.split(r"^(\S[^\n]*):\n", shown, flags=re.MULTILINE)[1:]
    listed = {
        title: tuple(re.findall(r"^  (\S+) +\S", text, re.MULTILINE))
        for title, text in zip(sections[::2], sections[1::2], strict=True)
    }
    assert {title: listed[title] for title in GROUPS} == GROUPS
    assert list(listed)[: len(GROUPS)] == list(GROUPS)
    assert len(listed["start here"]) == 5, "what a new user needs"


def test_options_of_the_connection_are_taken_before_and_after_the_command() -> None:
    program = parser("handoff")
    assert program.parse_args(["--url", "http://a", "status"]).url == "http://a"
    assert program.parse_args(["--url", "http://a", "status", "--url", "http://b"]).url == "http://b"


def test_a_command_keeps_its_own_help(run_alone: Run) -> None:
    assert "usage: handoff status [-h]" in run_alone("status", "--help").stdout
