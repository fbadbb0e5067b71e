"""`handoff chat` and other interactive commands on real pseudo-terminals."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pexpect

from tests.cli.conftest import User
from tests.cli.test_send import without_discord
from tests.support.fault_proxy import FaultProxy
from tests.support.pseudo_terminal import (
    PROMPT_READY,
    Spawn,
    chat_during_handoff,
    chat_with_reply,
    ends,
    type_line,
)

if TYPE_CHECKING:
    from tests.support.one_machine import OneMachine

LINK = r"http://[\d.:]+/#/telegram/-1001000000001/\d+"
CODE = "█▀▀▀▀▀█"


def test_handoff_shows_the_link_and_leaves(spawn: Spawn) -> None:
    chat = spawn("chat")
    type_line(chat, "hello there")
    chat.expect("You said")
    type_line(chat, "/handoff telegram")
    chat.expect("requested")
    chat.expect("agent confirmed")
    chat.expect("All 2 messages arrived")
    chat.expect(LINK)
    shown = ends(chat, 0)
    assert "a simulated chat: open it on this machine" in shown
    assert CODE not in shown, "no phone can open an address of this machine"


def test_a_second_terminal_resumes_and_continues(spawn: Spawn) -> None:
    first = spawn("chat", "--title", "Trip")
    type_line(first, "plan it")
    first.expect("You said")
    type_line(first, "/handoff telegram")
    ends(first, 0)
    second = spawn("chat")
    type_line(second, "/resume trip")
    second.expect("New messages")
    second.expect("this session arrived")
    second.expect("is here now")
    type_line(second, "and now?")
    second.expect("You said")
    type_line(second, "/quit")
    ends(second, 0)


def test_the_old_terminal_shows_where_the_session_is(spawn: Spawn, user: User, hold: Callable[..., None]) -> None:
    hold("send")
    chat = chat_during_handoff(spawn, until="agent confirmed")
    chat.sendintr()
    chat.expect("eave it running")
    chat.send("l\r")
    chat.expect("handoff status ")
    type_line(chat, "still here?")
    chat.expect(f"session is at {LINK} now")
    chat.expect("/resume")
    type_line(chat, "/resume")
    chat.expect("is here now")
    type_line(chat, "and again")
    chat.expect("You said")
    type_line(chat, "/quit")
    ends(chat, 0)


def test_only_one_of_two_terminals_writes(spawn: Spawn) -> None:
    first = chat_with_reply(spawn, "--title", "Both")
    second = spawn("chat", "--resume", "both")
    second.expect("is here now")
    type_line(first, "me too")
    first.expect("has moved to another terminal")


def test_refusals_create_no_session(spawn: Spawn, proxy: FaultProxy, user: User) -> None:
    proxy.fail("GET /platforms", change=without_discord, count=99)
    chat = spawn("chat")
    for line, said in (
        ("/handoff", "The platforms are: telegram, slack, discord"),
        ("/handoff nix", "no platform"),
        ("/handoff pigeon", "not supported yet"),
        ("/handoff discord", "not configured"),
        ("/handoff slack", "no home chat on slack"),
        ("/nonsense", "There is no /nonsense"),
    ):
        type_line(chat, line)
        chat.expect(said)
    type_line(chat, "/quit")
    ends(chat, 0)
    assert user.sessions == []


def test_a_failed_handoff_leaves_the_session_here(spawn: Spawn, service: "OneMachine") -> None:
    service.simulator.arm("telegram", "forbidden", 1, on="open_thread")
    chat = chat_during_handoff(spawn, until="kicked from the supergroup chat. The session is intact")
    type_line(chat, "go on")
    chat.expect("You said")


def test_slash_commands_show_and_change_things(spawn: Spawn, user: User) -> None:
    chat = spawn("chat")
    type_line(chat, "/help")
    chat.expect("/handoff PLATFORM")
    type_line(chat, "/status")
    chat.expect("No messages yet")
    type_line(chat, "hello")
    chat.expect("You said")
    type_line(chat, "/title Better name")
    chat.expect("The title is now")
    type_line(chat, "/sessions")
    chat.expect("Better name")
    type_line(chat, "/history")
    chat.expect("hello")
    type_line(chat, "/new Second")
    chat.expect("begins a new session")
    type_line(chat, "again")
    chat.expect("You said")
    type_line(chat, "/quit")
    ends(chat, 0)
    assert [session["title"] for session in user.sessions] == ["Second", "Better name"]


def test_several_lines_and_completion(spawn: Spawn, user: User) -> None:
    chat = spawn("chat")
    chat.expect_exact(PROMPT_READY)
    chat.send("one\x1b\rtwo\r")
    chat.expect("You said")
    chat.expect_exact(PROMPT_READY)
    chat.send("/sta\t")
    chat.expect("tus")
    chat.send("\r")
    chat.expect("2 messages")
    type_line(chat, "/h")
    chat.expect("Did you mean /handoff or /history or /help")
    (session,) = user.sessions
    assert next(user.api.messages(session["id"]))["content"] == "one\ntwo"


def test_an_ambiguous_title_is_a_list_to_choose_from(spawn: Spawn, user: User) -> None:
    north = user.session("Trip north")
    user.session("Trip south")
    chat = spawn("chat")
    type_line(chat, "/resume trip")
    chat.expect("Which one")
    chat.send("2\r")
    chat.expect("Trip north” is here now")
    assert user.api.session(north)["epoch"] == 1


def test_an_ambiguous_argument_is_a_list_too(spawn: Spawn, user: User) -> None:
    user.session("Trip north")
    user.session("Trip south")
    resume = spawn("resume", "trip")
    resume.expect("Which one")
    resume.send("1\r")
    assert "Trip south” is back" in ends(resume, 0)


def test_send_asks_about_likely_secrets(spawn: Spawn, user: User, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('{"role": "user", "content": "AKIA' + 'IOSFODNN7EXAMPLE"}')
    send = spawn("send", "telegram", "--transcript", str(path))
    send.expect("Send them as they are")
    send.send("\r")
    assert "Nothing was sent" in ends(send, 130)
    assert user.sessions == []


def test_no_colours_where_they_are_not_wanted(spawn: Spawn, user: User) -> None:
    handoff = user.hand_over(user.session("One", [{"role": "user", "content": "hi"}]))
    command = ("status", handoff["id"])
    assert "\x1b[3" not in ends_raw(spawn(*command, NO_COLOR="1"))
    dumb = ends_raw(spawn(*command, TERM="dumb"))
    assert "\x1b" not in dumb
    assert handoff["thread"]["url"] in dumb


PUBLIC, HERE = "https://t.me/c/1/2", "http://127.0.0.1:8787/#/telegram/1/2"


def test_a_code_is_drawn_where_it_fits_and_a_phone_can_open_it(spawn: Spawn) -> None:
    program = (
        "import os, sys; from handoff_cli.ui.qr_code import show_code; from handoff_cli.ui.terminal import Terminal;"
        "show_code(Terminal(environ=os.environ), sys.argv[1])"
    )

    def drawn(link: str, **how: Any) -> str:
        return ends_raw(spawn(link, program=[sys.executable, "-c", program], **how))

    plain = drawn(PUBLIC, NO_COLOR="1")
    assert CODE in plain
    assert "\x1b[3" not in plain
    assert CODE in drawn(PUBLIC)
    assert CODE not in drawn(PUBLIC, rows=10)
    assert CODE not in drawn(PUBLIC, TERM="dumb")
    assert CODE not in drawn(HERE)


def ends_raw(child: Any) -> str:
    """Everything that the program showed, with its escape sequences."""
    child.expect(pexpect.EOF)
    return str(child.before)
