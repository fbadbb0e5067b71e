"""`handoff tokens`."""

import json
from typing import TYPE_CHECKING

from tests.cli.conftest import Run, User
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from tests.support.one_machine import OneMachine


def test_a_token_is_created_listed_and_revoked(run: Run, user: User) -> None:
    made = run("tokens", "new", "--label", "for scripts", "--scope", "read", "--days", "30")
    assert made.returncode == 0
    token = made.stdout.strip()
    (entry,) = [one for one in json.loads(run("tokens", "list", "--json").stdout) if one["label"] == "for scripts"]
    assert token.startswith("ho_")
    assert entry["id"] in made.stderr

    def listed() -> str:
        """The use of a token for a read is noted after the answer."""
        shown = run("tokens", "list", HANDOFF_TOKEN=token).stdout
        (line,) = [line for line in shown.splitlines() if "for scripts" in line]
        assert line.split()[:4] == ["*", entry["id"], "read", "used"]
        return shown

    assert token not in eventually(listed)
    refused = run("tokens", "revoke", entry["id"], HANDOFF_TOKEN=token)
    assert (refused.returncode, "`handoff`" in refused.stderr) == (1, True)

    assert run("tokens", "revoke", entry["id"]).returncode == 0
    assert run("tokens", "list", HANDOFF_TOKEN=token).returncode == 1
    again = run("tokens", "revoke", entry["id"])
    assert (again.returncode, "nothing was revoked" in again.stderr) == (1, True)
    assert user.api.tokens()["current"]


def test_a_token_ends_before_the_year_10000(run: Run) -> None:
    done = run("tokens", "new", "--days", "99999999")
    assert (done.returncode, "No token was created" in done.stderr, "Traceback" in done.stderr) == (2, True, False)


def test_a_token_is_not_revoked_by_its_plaintext(run: Run, user: User) -> None:
    done = run("tokens", "revoke", user.token)
    assert (done.returncode, "handoff tokens list" in done.stderr, user.token in done.stderr) == (2, True, False)
    assert user.api.tokens()["current"]


def test_revoking_names_and_unlinks_accounts(run: Run, service: "OneMachine", user: User) -> None:
    token = run("tokens", "new", "--scope", "link").stdout.strip()
    made = json.loads(run("link", "telegram", "--json", HANDOFF_TOKEN=token).stdout)
    service.simulator.say("telegram", "7002", made["text"], user="stranger")
    user_id = str(eventually(lambda: service.store.accounts.user_of("telegram", "7002")))
    token_id = next(one["id"] for one in user.api.tokens()["tokens"] if one["scopes"] == ["link"])

    named = run("tokens", "revoke", token_id)
    assert "It has linked: 7002 on telegram" in named.stdout
    assert f"tokens revoke {token_id} --unlink" in named.stdout
    assert service.store.accounts.identities(user_id, "telegram") == ["7002"]

    done = json.loads(run("tokens", "revoke", token_id, "--unlink", "--json").stdout)
    assert done["accounts"] == [{"platform": "telegram", "account": "7002"}]
    assert service.store.accounts.identities(user_id, "telegram") == []
