"""The local cloud: moto, mended, as an HTTP server on a free loopback port, with an account of its own."""

import itertools
import secrets
import threading
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.config import Config
from botocore.credentials import Credentials
from moto.core.base_backend import BackendDict
from moto.iam.models import iam_backends

from local.cloud.moto_patches import families, queues, ttl
from local.cloud.moto_patches.access import GUARDS, Grant, Guard, Identity
from local.cloud.moto_patches.dispatch import application_of
from local.cloud.moto_patches.server import LoopbackServer
from local.cloud.moto_patches.streams import WRITES, Writes

REGION = "us-east-1"
ACCOUNTS = itertools.count(123_456_789_012)  # moto's state is per process and account: one account per engine
ADMIN = Credentials("AKIALOCALADMIN000000", "the-key-of-the-local-account")
CONFIG = Config(
    retries={"max_attempts": 0},  # an answer that is not an answer is a finding here, not a hiccup
    max_pool_connections=64,
    connect_timeout=5,
    read_timeout=60,
    user_agent="local-cloud",  # botocore composes its default for each call, which costs time
)


@dataclass
class Engine:
    """One account of the local cloud. `start` it, `stop` it; clients of a stopped engine get connection errors."""

    account_id: str
    server: LoopbackServer
    guard: Guard

    @classmethod
    def start(cls) -> "Engine":
        """Ready when this returns."""
        families.apply()
        account_id = str(next(ACCOUNTS))
        server = LoopbackServer(application_of(account_id))
        guard = Guard(account_id, identities={ADMIN.access_key: Identity(None, ADMIN)})
        GUARDS[account_id] = guard
        WRITES[account_id] = Writes()
        server.start()
        queues.BASE_URLS[account_id] = server.url
        return cls(account_id, server, guard)

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def region(self) -> str:
        return REGION

    def client(self, service: str, credentials: Credentials | None = None, *, config: Config | None = None) -> Any:
        """A boto3 client of this engine: the account's own, or with the credentials of a role."""
        who = credentials or ADMIN
        with _SESSION_LOCK:  # making clients from one session is not thread-safe; sharing it makes them cheap
            return _SESSION.client(
                service,
                region_name=REGION,
                endpoint_url=self.url,
                aws_access_key_id=who.access_key,
                aws_secret_access_key=who.secret_key,
                aws_session_token=who.token,
                config=CONFIG.merge(config) if config else CONFIG,
            )

    def assume(self, role_arn: str) -> Credentials:
        """New credentials of a deployed role; calls made with them are noted, and checked once access is enforced."""
        iam_backends[self.account_id]["aws"].get_role_by_arn(role_arn)  # raises if there is none
        credentials = Credentials(f"ASIA{secrets.token_hex(8).upper()}", secrets.token_hex(20), secrets.token_hex(32))
        self.guard.identities[credentials.access_key] = Identity(role_arn, credentials)
        return credentials

    def grants_used(self) -> frozenset[Grant]:
        """Each (role, action, resource) that calls under roles needed so far."""
        return frozenset(self.guard.used)

    def grants_unused(self, role_arn: str) -> frozenset[Grant]:
        """Each (role, action, resource) that the role's policies allow and no call has needed so far."""
        return self.guard.unused(role_arn)

    def grants_denied(self) -> frozenset[Grant]:
        """Each (role, action, resource) that a role was refused since access is enforced."""
        return frozenset(self.guard.denied)

    def wait_for_writes(self, seen: int, timeout: float) -> int:
        """Block until the number of stream records differs from `seen`, at most `timeout` s; return that number."""
        return WRITES[self.account_id].wait(seen, timeout)

    def expire_items(self, now: float) -> int:
        """Delete what TTL lets go at `now` (seconds since the epoch), as DynamoDB does in its own time."""
        return ttl.expire(self.account_id, REGION, now)

    def stop(self) -> None:
        """Idempotent: the server ends, and moto forgets this account."""
        queues.release(self.account_id)
        self.server.stop()
        for backends in list(BackendDict._instances):  # noqa: SLF001 - moto offers only a reset of all accounts
            backends.pop(self.account_id, None)
        for registry in (GUARDS, WRITES, queues.BASE_URLS):
            registry.pop(self.account_id, None)


_SESSION = boto3.session.Session()
_SESSION_LOCK = threading.Lock()
