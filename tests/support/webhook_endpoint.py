"""The `webhook` function on tables and a queue in memory, with every platform configured and one known person."""

import base64
import json
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from functions.webhook.handler import build
from local.chats.spec import LocalChat
from shared.bootstrap import Handler
from shared.clock import SystemClock
from shared.platforms.registry import PlatformRegistry
from shared.ports.inbound import Event, Inbound, Pressed, WebhookRequest
from shared.ports.tables import Table
from shared.services import Services
from shared.settings import Settings
from shared.store.bundle import store_on
from shared.store.inbox import InboxRow
from tests.support.fake_queue import FakeQueue
from tests.support.hostile_webhooks import Samples
from tests.support.memory_tables import MemoryTables
from tests.support.secrets import FakeSecrets
from tests.support.use_case_world import World

EVENT = Path(__file__).parents[1] / "events" / "http_telegram_webhook.json"
OWNER = "owner"
UNREACHABLE = {"api": "http://127.0.0.1:9/bot", "link": "https://chat.test"}


@contextmanager
def errors_logged() -> Iterator[list[str]]:
    """What the product logs as an error, or with a traceback, in any thread."""
    found: list[str] = []

    class Recorder(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            is_ours = record.name.startswith(("functions", "shared"))
            if is_ours and (record.levelno >= logging.ERROR or record.exc_info):
                found.append(self.format(record))

    recorder = Recorder()
    logging.getLogger().addHandler(recorder)
    try:
        yield found
    finally:
        logging.getLogger().removeHandler(recorder)


@dataclass(frozen=True)
class WebhookEndpoint:
    """Takes signed webhooks as Lambda would pass them on. The platforms themselves cannot be reached."""

    services: Services
    secrets: Mapping[str, str]
    tables: MemoryTables
    queue: FakeQueue
    signed_at: int = field(default_factory=lambda: int(time.time()))

    @cached_property
    def _handler(self) -> Handler:
        return build(self.services)

    def post(self, samples: Samples, raw: bytes) -> int:
        """Sign the body as the platform does; returns the status of the answer."""
        raw, path = samples.seal(self.secrets, raw), f"/webhooks/{samples.platform}{samples.rest}"
        return self.send(samples.method, path, raw, self._headers(samples, raw))

    def send(self, method: str, path: str, raw: bytes, headers: Mapping[str, str]) -> int:
        """Pass a request on as it is; returns the status of the answer."""
        status: int = self.answer(method, path, raw, headers)["statusCode"]
        return status

    def answer(self, method: str, path: str, raw: bytes, headers: Mapping[str, str]) -> Mapping[str, Any]:
        """What Lambda gets for a request."""
        event: dict[str, Any] = json.loads(EVENT.read_text())
        event |= {"rawPath": path, "body": base64.b64encode(raw).decode(), "isBase64Encoded": True}
        event["requestContext"]["http"] |= {"method": method, "path": path}
        event["headers"] = {name.lower(): value for name, value in headers.items()}
        answer: Mapping[str, Any] = self._handler(event, None)
        return answer

    def effects(self) -> tuple[list[str], int]:
        """The stored messages of all places, and how many wake-ups are queued."""
        rows = [f"{item['pk']} {item['sk']}" for item in self.tables.scan(Table.SESSIONS)]
        return sorted(row for row in rows if row.startswith("INBOX#")), len(self.queue.waiting)

    def is_signed(self, samples: Samples, raw: bytes) -> bool:
        """Whether a change of the body has left the secret in it, on a platform that has it there."""
        raw = samples.seal(self.secrets, raw)
        request = WebhookRequest(raw, self._headers(samples, raw), samples.method, samples.rest.removeprefix("/"))
        return self.services.platforms.get(samples.platform).verify(request, now=int(time.time() * 1000))

    def text(self, samples: Samples, raw: bytes) -> str | None:
        """The stored text of the one message in a webhook."""
        row = self.row(samples, raw)
        return row.text if row else None

    def row(self, samples: Samples, raw: bytes) -> InboxRow | None:
        (message,) = [event for event in self.events(samples, raw) if isinstance(event, Inbound | Pressed)]
        return self.services.store.inbox.get(message.place, message.event_id)

    def events(self, samples: Samples, raw: bytes) -> Sequence[Event]:
        """What the platform's adapter reads in a webhook."""
        request = WebhookRequest(raw, self._headers(samples, raw), samples.method, samples.rest.removeprefix("/"))
        return self.services.platforms.get(samples.platform).parse(request).events

    def _headers(self, samples: Samples, raw: bytes) -> dict[str, str]:
        headers = {"Content-Type": "application/json", **samples.headers}
        headers |= samples.sign(self.secrets, raw, self.signed_at)
        return {name.lower(): value for name, value in headers.items()}


def webhook_endpoint(chats: Sequence[LocalChat], configured: Mapping[str, str] | None = None) -> WebhookEndpoint:
    """An endpoint on empty tables. `configured` are the secrets of the deployment, if not those of its chats."""
    urls = {chat.name: UNREACHABLE for chat in chats}
    settings = Settings("", "", "", platform_urls=urls, public_url="https://service.test")
    secrets = {name: value for chat in chats for name, value in chat.new_secrets().items()}
    platforms = PlatformRegistry(
        settings, FakeSecrets(secrets if configured is None else configured), [chat.spec for chat in chats]
    )
    tables = MemoryTables()
    world = World(store_on(tables))
    services = replace(world.services, settings=settings, clock=SystemClock(), platforms=platforms)
    for chat in chats:
        services.store.accounts.add_identity(OWNER, chat.name, chat.people["owner"])
    return WebhookEndpoint(services, secrets, tables, world.queue)
