"""Native sessions as a chat may see them: of listed projects only, under ids of this machine, few files opened."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from handoff_cli.runner.machine.projects import Projects
from handoff_cli.runner.machine.sessions import HandedOver, Sessions
from handoff_cli.runner.natives.aligned import after_stored
from handoff_cli.runner.natives.listing import Listing, is_amid_turn, listed_id
from handoff_cli.runner.natives.native import Native
from tests.support.native_sessions import claude_session, codex_database, codex_session, held_by_codex

URL = "http://service"
EVERY = ("claude-code", "codex")


@pytest.fixture
def listing(tmp_path: Path) -> Callable[..., Listing]:
    """Two listed projects, `shop` and `site`, and a directory that is not listed."""
    for name in ("shop", "site", "secret", "shop-old"):
        (tmp_path / name).mkdir()

    def make(**more: object) -> Listing:
        known = {name: tmp_path / name for name in ("shop", "site")}
        agents = more.pop("agents", EVERY)
        environ = {"HOME": str(tmp_path), "PATH": "", **more}
        return Listing(Projects(known, bring=True), agents, environ, tmp_path / "state", URL)  # type: ignore[arg-type]

    return make


def titles(listing: Listing, word: str = "") -> list[str]:
    return [native.title for _, native in listing.find(word).sessions]


def test_sessions_of_listed_projects_and_below_are_found_newest_first(
    tmp_path: Path, listing: Callable[..., Listing]
) -> None:
    (tmp_path / "shop" / "api").mkdir()
    claude_session(tmp_path, tmp_path / "shop", "one", written=1e9)
    claude_session(tmp_path, tmp_path / "shop" / "api", "two", written=1e9 + 1)
    codex_session(tmp_path, tmp_path / "site", "three", written=1e9 + 2)
    for name in ("secret", "shop-old"):
        claude_session(tmp_path, tmp_path / name, f"claude in {name}", written=1e9 + 3)
        codex_session(tmp_path, tmp_path / name, f"codex in {name}", written=1e9 + 3)
    codex_session(tmp_path, tmp_path / "shop", "a helper", written=1e9 + 4, helper=True)
    found = listing().find("").sessions
    assert [(label, native.title) for label, native in found] == [("site", "three"), ("shop", "two"), ("shop", "one")]


def test_a_link_out_of_a_project_leads_to_no_session(tmp_path: Path, listing: Callable[..., Listing]) -> None:
    (tmp_path / "shop" / "link").symlink_to(tmp_path / "secret")
    claude_session(tmp_path, tmp_path / "shop" / "link", "of the secret directory")
    assert titles(listing()) == []


def test_what_the_service_gets_holds_no_path_and_no_secret(tmp_path: Path, listing: Callable[..., Listing]) -> None:
    token = "ghp_" + "a1B2" * 9
    path = claude_session(
        tmp_path, tmp_path / "shop", f"use {token} to push", native_id="n-1", written=time.time() - 60
    )
    Sessions(tmp_path / "state").add(HandedOver("s-7", "claude-code", "n-1", str(tmp_path / "shop"), URL))
    (one,) = listing().body(listing().find(""))
    assert one == {
        "id": listed_id(Native("claude-code", "n-1", "", "", 0.0, path)),
        "title": "use [redacted GitHub token] to push",
        "project": "shop",
        "agent": "claude-code",
        "age": pytest.approx(60, abs=5),
        "open": None,
        "session_id": "s-7",
    }


def test_an_id_leads_back_to_its_session_while_that_is_in_a_project(
    tmp_path: Path, listing: Callable[..., Listing]
) -> None:
    path = claude_session(tmp_path, tmp_path / "shop", "hello")
    (one,) = listing().body(listing().find(""))
    found = listing().again(one["id"])
    assert found is not None
    assert (found[0], found[1].path) == ("shop", path)
    assert listing(agents=("codex",)).again(one["id"]) is None
    (tmp_path / "shop").rename(tmp_path / "moved")
    (tmp_path / "shop").symlink_to(tmp_path / "secret")
    assert listing().again(one["id"]) is not None  # the path is as it was listed
    path.unlink()
    assert listing().again(one["id"]) is None


@pytest.mark.parametrize("wanted", ["unknown", "../../etc/passwd", "/etc/passwd", ""])
def test_no_other_id_leads_anywhere(tmp_path: Path, listing: Callable[..., Listing], wanted: str) -> None:
    claude_session(tmp_path, tmp_path / "shop", "hello")
    listing().body(listing().find(""))
    assert listing().again(wanted) is None
    assert listing().handed_over(wanted) is None


def test_of_five_thousand_files_ten_are_opened_and_two_hundred_with_a_word(
    tmp_path: Path, listing: Callable[..., Listing]
) -> None:
    """Each file is a session of the project, so each that is opened is found."""
    first = claude_session(tmp_path, tmp_path / "shop", "an old one", written=1e9)
    for number in range(4800):
        os.link(first, first.with_name(f"s{number:04}.jsonl"))
    for age in range(1, 202):
        claude_session(tmp_path, tmp_path / "shop", f"word {age}" if age >= 199 else "other", written=2e9 - age)
    assert (len(listing().find("").sessions), listing().find("").left) == (10, 4992)
    found = listing().find("word")
    assert ([native.title for _, native in found.sessions], found.left) == (["word 199", "word 200"], 4802)


def test_sessions_of_codex_elsewhere_do_not_hide_those_of_a_project(
    tmp_path: Path, listing: Callable[..., Listing]
) -> None:
    codex_session(tmp_path, tmp_path / "shop", "mine", native_id="mine", written=1e9)
    elsewhere = {f"t-{number}": tmp_path / "secret" for number in range(300)}
    for number, (native_id, directory) in enumerate(elsewhere.items()):
        codex_session(tmp_path, directory, "not mine", native_id=native_id, written=1e9 + 1 + number)
    codex_session(tmp_path, tmp_path / "site", "new", native_id="new", written=2e9)

    assert titles(listing()) == ["new"]  # without the database of Codex only each file tells
    assert listing().find("").left == 292

    codex_database(tmp_path, {**elsewhere, "mine": tmp_path / "shop"})  # it does not have the new one yet
    assert (titles(listing()), listing().find("").left) == (["new", "mine"], 0)
    (tmp_path / ".codex" / "state_6.sqlite").write_text("another form")
    assert titles(listing()) == ["new"]


@pytest.mark.parametrize(
    ("answer", "written", "is_open", "amid"),
    [("Yes.", 0, True, False), (None, 0, None, True), (None, 3600, None, False), (None, 3600, True, True)],
)
def test_an_agent_amid_a_turn_is_seen(
    tmp_path: Path, answer: str | None, written: float, is_open: bool | None, amid: bool
) -> None:
    at = time.time() - written
    path = claude_session(tmp_path, tmp_path, "go", answer=answer, written=at)
    assert is_amid_turn(Native("claude-code", path.stem, "", "", at, path, is_open)) is amid


def test_a_thread_that_codex_holds_is_open(tmp_path: Path, listing: Callable[..., Listing]) -> None:
    for words, native_id in (("held", "t-1"), ("let go", "t-2")):
        codex_session(tmp_path, tmp_path / "shop", words, native_id=native_id)

    def seen() -> dict[str, object]:
        found = listing().find("")
        return {
            native.title: one["open"] for (_, native), one in zip(found.sessions, listing().body(found), strict=True)
        }

    assert seen() == {"held": None, "let go": None}  # a Codex that keeps no such files
    with held_by_codex(tmp_path, "t-1"), held_by_codex(tmp_path, "t-2"):
        pass
    with held_by_codex(tmp_path, "t-1"):
        assert seen() == {"held": True, "let go": False}
    assert seen() == {"held": False, "let go": False}


def message(role: str, content: str) -> dict[str, object]:
    return {"role": role, "content": content}


def test_only_what_the_service_does_not_have_is_uploaded() -> None:
    said = [message("user", "one"), message("assistant", "1"), message("user", "two"), message("assistant", "2")]
    assert after_stored(said, said[:2], 2) == said[2:]
    assert after_stored(said, [], 2) == []
    prompt: dict[str, object] = {**message("user", "a prompt"), "internal": True}
    chat = [*said[:2], prompt, message("assistant", "1")]
    assert after_stored(said, chat, 9) == said[2:]
    assert after_stored(said, [message("user", "something else")], 9) == []


def test_an_answer_that_a_chat_got_in_another_form_is_not_uploaded_again() -> None:
    begun = [message("user", "one"), message("assistant", "1")]
    prompt: dict[str, object] = {**message("user", "Confirm."), "internal": True}
    in_chat = [*begun, prompt, message("assistant", "Warning: a notice. Here."), message("user", "go on")]
    in_chat += [message("assistant", "Working. Done.")]
    native = [*begun, message("user", "A hint.\n\nConfirm."), message("assistant", "Here.")]
    at_desk = [message("user", "please go on"), message("assistant", "ok")]

    assert after_stored([*native, *at_desk], in_chat[:4], 4) == at_desk
    native += [message("user", "go on"), message("assistant", "Working."), message("assistant", "Done.")]
    assert after_stored(native, in_chat, 6) == []
    assert after_stored([*native, *at_desk], in_chat, 6) == at_desk
    assert after_stored([*native, *at_desk], in_chat[:5], 5) == [*native[5:], *at_desk]  # not answered in the chat
