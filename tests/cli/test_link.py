"""`handoff link`, `unlink`, `homes`, `invite` and `login`."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import HOME_CHAT, Run, User
from tests.support.pseudo_terminal import Spawn
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from tests.support.one_machine import OneMachine

CHAT, STRANGER = "7002", "7002"


@pytest.fixture(autouse=True)
def free_account(service: "OneMachine") -> Iterator[None]:
    """The stranger's account belongs to no user before and after."""
    yield
    if user_id := service.store.accounts.user_of("telegram", STRANGER):
        service.store.accounts.unlink(user_id, "telegram")


def say(service: "OneMachine", text: str) -> None:
    service.simulator.say("telegram", CHAT, text, user="stranger")


def test_link_shows_a_code_and_waits_for_it(spawn: Spawn, service: "OneMachine", user: User) -> None:
    child = spawn("link", "telegram", "--home")
    child.expect(r"private chat:   (/link \S+)")
    say(service, child.match[1])
    child.expect(rf"Linked: Sam [^\n]*, telegram account {STRANGER}")
    child.expect_exact("has just been told so")
    child.wait()
    assert child.exitstatus == 0
    (shown,) = [each for each in user.api.platforms() if each["name"] == "telegram"]
    assert (shown["home"], shown["accounts"]) == ({"chat": CHAT}, [STRANGER])


def test_a_home_stays_unless_the_person_asked(spawn: Spawn, service: "OneMachine", user: User) -> None:
    child = spawn("link", "telegram")
    child.expect(r"private chat:   (/link \S+)")
    say(service, child.match[1])
    child.expect_exact("Handoffs arrive where they did")
    child.expect_exact("link telegram --home")
    child.wait()
    (shown,) = [each for each in user.api.platforms() if each["name"] == "telegram"]
    assert (shown["home"], shown["accounts"]) == ({"chat": HOME_CHAT}, [STRANGER])


def test_a_script_gets_the_code_at_once(run: Run, service: "OneMachine") -> None:
    made = json.loads(run("link", "telegram", "--home", "--json").stdout)
    say(service, made["text"])
    eventually(lambda: service.store.accounts.user_of("telegram", STRANGER))

    homes = {each["platform"]: each for each in json.loads(run("homes", "--json").stdout)}
    assert homes["telegram"] == {"platform": "telegram", "home": {"chat": CHAT}, "accounts": [STRANGER]}
    shown = {line.split()[0]: line for line in run("homes").stdout.splitlines()}
    assert f"you are {STRANGER}" in shown["telegram"]
    assert "handoff link slack" in shown["slack"]

    assert run("unlink", "telegram").returncode == 0
    assert service.store.accounts.user_of("telegram", STRANGER) is None
    assert json.loads(run("homes", "--json").stdout)[0]["accounts"] == []


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("link", "pigeon"), 1, "pigeon"),
        (("link",), 2, "Choose one of: telegram"),
        (("unlink", "pigeon"), 1, "pigeon"),
        (("invite", "anna", "telegram"), 1, "`admin`"),
    ],
)
def test_what_cannot_be_linked_is_refused(run: Run, arguments: tuple[str, ...], code: int, said: str) -> None:
    done = run(*arguments)
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr


def test_a_code_that_a_newer_one_replaced_is_not_waited_for(spawn: Spawn, user: User) -> None:
    child = spawn("link", "telegram")
    child.expect("Waiting for the code")
    user.api.create_link("telegram")
    child.expect("replaced by a newer one")
    child.wait()
    assert child.exitstatus == 1


def invited(run: Run, service: "OneMachine", name: str) -> str:
    """The login link that the bot shows to a person who was invited."""
    from shared.domain.tokens import Scope  # noqa: PLC0415  # most tests here do without the service's code
    from shared.use_cases.people.tokens import issue_token  # noqa: PLC0415  # see above

    admin = issue_token(service.store.accounts, "owner", now=1, scopes=frozenset(Scope)).plaintext
    made = json.loads(run("invite", name, "telegram", "--json", HANDOFF_TOKEN=admin).stdout)
    say(service, made["text"])
    pattern = rf'http://[^"\\#]+/login#hl_{name}\.[\w-]+'
    found: Any = eventually(lambda: re.search(pattern, json.dumps(service.simulator.state())))
    return str(found[0])


def test_an_invited_person_logs_in_once(run: Run, run_alone: Run, service: "OneMachine", tmp_path: Path) -> None:
    link = invited(run, service, "guest-one")

    done = run_alone("login", "--json", stdin=f"{link}\n")

    assert (done.returncode, json.loads(done.stdout)["user"]) == (0, "guest-one"), done.stderr
    config = tmp_path / "home" / ".config" / "handoff" / "config.toml"
    assert config.stat().st_mode & 0o077 == 0
    assert "ho_guest-one." in config.read_text()
    assert link.partition("#")[2] not in done.stdout + done.stderr + config.read_text()
    (token,) = json.loads(run_alone("tokens", "list", "--json").stdout)
    assert (token["label"], token["scopes"]) == ("first login", ["handoff", "link", "read", "run"])
    again = run_alone("login", stdin=f"{link}\n", HOME=str(tmp_path / "other"))
    assert (again.returncode, "was used already" in again.stderr) == (1, True)
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    "link", ["", "https://service.test", "https://service.test/login", "http://far.test/login#hl_x.y"]
)
def test_a_text_that_is_no_login_link_changes_nothing(run_alone: Run, tmp_path: Path, link: str) -> None:
    done = run_alone("login", stdin=f"{link}\n")
    assert done.returncode == 2
    assert not (tmp_path / "home" / ".config").exists()


def test_a_login_link_is_not_taken_as_an_argument(run_alone: Run) -> None:
    assert run_alone("login", "https://service.test/login#hl_anna.secret").returncode == 2
