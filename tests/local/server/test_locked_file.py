"""A file that another process has locked: writes wait for it, and nothing else does."""

import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection

import httpx

from local.server.service import Server
from shared.domain.tokens import Scope
from shared.use_cases.people.tokens import issue_token
from tests.support.waiting import eventually

AT_ONCE = 3
"""Seconds, of the ten that a write waits."""


@contextmanager
def locked(server: Server) -> Iterator[None]:
    with closing(sqlite3.connect(server.directory.database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            other.execute("ROLLBACK")


def client(server: Server) -> httpx.Client:
    """With a token that was not used yet."""
    token = issue_token(server.store.accounts, "owner", now=1, scopes=frozenset(Scope)).plaintext
    return httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {token}"}, timeout=AT_ONCE)


def test_the_first_read_of_a_day_does_not_wait_for_a_locked_file(server: Server) -> None:
    with client(server) as reader:
        with locked(server):
            assert [reader.get(path).status_code for path in ("/sessions", "/health", "/handoffs")] == [200] * 3
        # A read is noted after its answer, in a thread that waits for the file.
        eventually(lambda: any(token["last_used"] for token in reader.get("/tokens").json()["tokens"]) or None)


def test_a_sign_of_life_does_not_hold_up_other_calls(server: Server) -> None:
    runner_id = f"r-{uuid.uuid4().hex[:12]}"
    with client(server) as user, closing(HTTPConnection("127.0.0.1", server.http.port, timeout=30)) as runner:
        body = {"name": "laptop", "agents": [], "version": "1", "protocol": 1}
        user.put(f"/runners/{runner_id}", json=body).raise_for_status()
        before = server.store.runners.get("owner", runner_id)
        assert before is not None
        server.store.runners.seen(before, now=1)
        with locked(server):
            runner.request("GET", f"/runners/{runner_id}/turns?wait=1", headers=dict(user.headers))
            assert [user.get(path).status_code for path in ("/health", "/sessions")] == [200] * 2
            after = server.store.runners.get("owner", runner_id)
            assert (after and after.seen_at) == 1
        assert runner.getresponse().status == 200
    after = server.store.runners.get("owner", runner_id)
    assert after is not None
    assert after.seen_at > 1
