"""`handoff tokens`."""

import json

from tests.cli.conftest import Run, User


def test_a_token_is_created_listed_and_revoked(run: Run, user: User) -> None:
    made = run("tokens", "new", "--label", "for scripts", "--scope", "read", "--days", "30")
    assert made.returncode == 0
    token = made.stdout.strip()
    (entry,) = [one for one in json.loads(run("tokens", "list", "--json").stdout) if one["label"] == "for scripts"]
    assert token.startswith("ho_")
    assert entry["id"] in made.stderr

    shown = run("tokens", "list", HANDOFF_TOKEN=token)
    (line,) = [line for line in shown.stdout.splitlines() if "for scripts" in line]
    assert line.split()[:4] == ["*", entry["id"], "read", "used"]
    assert token not in shown.stdout
    refused = run("tokens", "revoke", entry["id"], HANDOFF_TOKEN=token)
    assert (refused.returncode, "`handoff`" in refused.stderr) == (1, True)

    assert run("tokens", "revoke", entry["id"]).returncode == 0
    assert run("tokens", "list", HANDOFF_TOKEN=token).returncode == 1
    again = run("tokens", "revoke", entry["id"])
    assert (again.returncode, "nothing was revoked" in again.stderr) == (1, True)
    assert user.api.tokens()["current"]
