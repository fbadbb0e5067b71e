"""`handoff chat` and other interactive commands in real pseudo-terminals."""

from typing import Any

import pexpect

from tests.cli.stub_service import StubService
from tests.cli.stub_state import LINK
from tests.support.pseudo_terminal import Spawn, ends, handing_over, talking, type_line


def test_chat_then_handoff_shows_link_and_code_and_leaves(spawn: Spawn, stub: StubService) -> None:
    chat = spawn("chat")
    type_line(chat, "hello there")
    chat.expect("You said")
    type_line(chat, "/handoff telegram")
    chat.expect("picked up")
    chat.expect("agent confirmed")
    chat.expect("All 2 messages arrived")
    chat.expect_exact(LINK)
    assert "█▀▀▀▀▀█" in ends(chat, 0)


def test_a_second_terminal_resumes_and_goes_on(spawn: Spawn, stub: StubService) -> None:
    first = spawn("chat", "--title", "Trip")
    type_line(first, "plan it")
    first.expect("You said")
    type_line(first, "/handoff telegram")
    ends(first, 0)
    second = spawn("chat")
    type_line(second, "/resume trip")
    second.expect("Said meanwhile")
    second.expect("I am here now")
    second.expect("is here now")
    type_line(second, "and now?")
    second.expect("You said")
    type_line(second, "/quit")
    ends(second, 0)


def test_the_old_terminal_is_told_where_the_session_lives(spawn: Spawn, stub: StubService) -> None:
    stub.state.script.stop_after = 4
    chat = handing_over(spawn, until="session moved")
    chat.sendintr()
    chat.expect("eave it running")
    chat.send("l\r")
    chat.expect("handoff status h1")
    type_line(chat, "still here?")
    chat.expect_exact(f"lives at {LINK} now")
    chat.expect("/resume")
    type_line(chat, "/resume")
    chat.expect("is here now")
    type_line(chat, "and again")
    chat.expect("You said")
    type_line(chat, "/quit")
    ends(chat, 0)


def test_two_terminals_in_one_session_have_one_writer(spawn: Spawn, stub: StubService) -> None:
    first = talking(spawn, "--title", "Both")
    second = spawn("chat", "--resume", "both")
    second.expect("is here now")
    type_line(first, "me too")
    first.expect("Another terminal took this session over")


def test_refusals_say_what_to_do_and_leave_the_session_alone(spawn: Spawn, stub: StubService) -> None:
    chat = spawn("chat")
    for line, said in (
        ("/handoff", "Where to\\?"),
        ("/handoff nix", "no platform"),
        ("/handoff matrix", "not supported yet"),
        ("/handoff discord", "not configured"),
        ("/handoff slack", "No home on slack"),
        ("/nonsense", "There is no /nonsense"),
    ):
        type_line(chat, line)
        chat.expect(said)
    type_line(chat, "/quit")
    ends(chat, 0)
    assert stub.state.sessions == {}


def test_a_failed_handoff_says_why_and_that_the_session_is_intact(spawn: Spawn, stub: StubService) -> None:
    stub.state.script.stop_after = 5
    stub.state.script.error = {"code": "rejected", "message": "The bot was removed from the chat"}
    chat = handing_over(spawn, until="removed from the chat. The session is intact")
    stub.state.script.error = None
    type_line(chat, "go on")
    chat.expect("You said")


def test_slash_commands_show_and_change_things(spawn: Spawn, stub: StubService) -> None:
    chat = spawn("chat")
    type_line(chat, "/help")
    chat.expect("/handoff PLATFORM")
    type_line(chat, "/status")
    chat.expect("Nothing was said yet")
    type_line(chat, "hello")
    chat.expect("You said")
    type_line(chat, "/title Better name")
    chat.expect("The title is now")
    type_line(chat, "/sessions")
    chat.expect("Better name")
    type_line(chat, "/history")
    chat.expect("hello")
    type_line(chat, "/new Second")
    chat.expect("A new session begins")
    type_line(chat, "again")
    chat.expect("You said")
    type_line(chat, "/quit")
    ends(chat, 0)
    assert [session["title"] for session in stub.state.sessions.values()] == ["Better name", "Second"]


def test_several_lines_and_completion(spawn: Spawn, stub: StubService) -> None:
    chat = spawn("chat")
    chat.expect_exact("\x1b[?2004h")
    chat.send("one\x1b\rtwo\r")
    chat.expect("You said")
    chat.expect_exact("\x1b[?2004h")
    chat.send("/sta\t")
    chat.expect("tus")
    chat.send("\r")
    chat.expect("2 messages")
    type_line(chat, "/h")
    chat.expect("Did you mean /handoff or /history or /help")
    assert next(iter(stub.state.transcripts.values()))[0]["content"] == "one\ntwo"


def test_an_ambiguous_title_is_a_list_to_choose_from(spawn: Spawn, stub: StubService) -> None:
    stub.state.put_session("aaa", {"title": "Trip north"})
    stub.state.put_session("bbb", {"title": "Trip south"})
    chat = spawn("chat")
    type_line(chat, "/resume trip")
    chat.expect("Which one")
    chat.send("2\r")
    chat.expect("Trip north” is here now")
    assert stub.state.sessions["aaa"]["epoch"] == 1


def test_an_ambiguous_name_on_the_command_line_is_a_list_too(spawn: Spawn, stub: StubService) -> None:
    stub.state.put_session("aaa", {"title": "Trip north"})
    stub.state.put_session("bbb", {"title": "Trip south"})
    resume = spawn("resume", "trip")
    resume.expect("Which one")
    resume.send("1\r")
    assert "Trip south” is back" in ends(resume, 0)


def test_send_in_a_terminal_asks_about_likely_secrets(spawn: Spawn, stub: StubService, tmp_path: Any) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('{"role": "user", "content": "AKIA' + 'IOSFODNN7EXAMPLE"}')
    send = spawn("send", "telegram", "--transcript", str(path))
    send.expect("Send them as they are")
    send.send("\r")
    assert "Nothing was sent" in ends(send, 130)
    assert stub.state.sessions == {}


def test_colours_stay_out_with_no_color_and_the_code_out_of_small_or_dumb_terminals(
    spawn: Spawn, stub: StubService, tmp_path: Any
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('{"role": "user", "content": "hi"}')
    command = ("send", "telegram", "--transcript", str(path))
    plain = spawn(*command, NO_COLOR="1")
    plain.expect(pexpect.EOF)
    assert "\x1b[3" not in plain.before
    assert "█▀▀▀▀▀█" in plain.before
    small = spawn(*command, rows=10)
    small.expect(pexpect.EOF)
    assert "█▀▀▀▀▀█" not in small.before
    dumb = spawn(*command, TERM="dumb")
    dumb.expect(pexpect.EOF)
    assert "█▀▀▀▀▀█" not in dumb.before
    assert "\x1b" not in dumb.before
