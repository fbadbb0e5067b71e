"""An emulated AWS account: moto with patches behind an HTTP endpoint on a free loopback port."""

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

from local.cloud.endpoint.application import application_of
from local.cloud.endpoint.server import LoopbackServer
from local.cloud.moto_patches import patches, queues
from local.cloud.moto_patches.access import ACCESS, AccessControl
from local.cloud.moto_patches.streams import WRITES, Writes
from local.cloud.stack import REGION

ACCOUNTS = itertools.count(123_456_789_012)  # moto keeps its state per process and account: one account per engine
CONFIG = Config(
    retries={"max_attempts": 0},  # a failed call to the emulator is a defect to show, not a transient error
    max_pool_connections=64,
    connect_timeout=5,
    read_timeout=60,
    user_agent="local-cloud",  # botocore composes its default for each call, which costs time
)


@dataclass
class Engine:
    """One account, from `start` to `stop`. Clients of a stopped engine get connection errors."""

    account_id: str
    server: LoopbackServer
    access: AccessControl
    admin: Credentials
    credentials: dict[str, Credentials]  # all that may sign requests, by access key

    @classmethod
    def start(cls) -> "Engine":
        """Return an engine that accepts requests."""
        patches.apply()
        account_id = str(next(ACCOUNTS))
        admin = _new_credentials("AKIA", token=None)
        credentials = {admin.access_key: admin}
        server = LoopbackServer(application_of(account_id, credentials))
        access = ACCESS[account_id] = AccessControl(account_id)
        WRITES[account_id] = Writes()
        server.start()
        queues.BASE_URLS[account_id] = server.url
        return cls(account_id, server, access, admin, credentials)

    @property
    def url(self) -> str:
        return self.server.url

    def client(self, service: str, credentials: Credentials | None = None, *, config: Config | None = None) -> Any:
        """Return a boto3 client with the credentials of a role, or with the rights of the account."""
        who = credentials or self.admin
        usual = CONFIG.merge(Config(signature_version="s3v4")) if service == "s3" else CONFIG
        with _SESSION_LOCK:  # creating clients is not thread-safe; one session for all makes it cheap
            return _SESSION.client(
                service,
                region_name=REGION,
                endpoint_url=self.url,
                aws_access_key_id=who.access_key,
                aws_secret_access_key=who.secret_key,
                aws_session_token=who.token,
                config=usual.merge(config) if config else usual,
            )

    def assume(self, role_arn: str) -> Credentials:
        """Return new credentials of a role; its policies are enforced for calls with them. Raises if there is no such role."""
        iam_backends[self.account_id]["aws"].get_role_by_arn(role_arn)
        credentials = _new_credentials("ASIA", token=secrets.token_hex(32))
        self.access.roles[credentials.access_key] = role_arn
        self.credentials[credentials.access_key] = credentials
        return credentials

    def wait_for_writes(self, seen: int, timeout: float) -> int:
        """Block until the number of stream records differs from `seen`, at most `timeout` s; return that number."""
        return WRITES[self.account_id].wait(seen, timeout)

    def stop(self) -> None:
        """Stop the server and delete the account's state in moto. Idempotent."""
        queues.release(self.account_id)
        self.server.stop()
        for backends in list(BackendDict._instances):  # noqa: SLF001 - moto offers only a reset of all accounts
            backends.pop(self.account_id, {}).clear()  # emptied, too: a cache in moto keeps it
        for registry in (ACCESS, WRITES, queues.BASE_URLS):
            registry.pop(self.account_id, None)


def _new_credentials(prefix: str, *, token: str | None) -> Credentials:
    return Credentials(f"{prefix}{secrets.token_hex(8).upper()}", secrets.token_hex(20), token)


_SESSION = boto3.session.Session()
_SESSION_LOCK = threading.Lock()
