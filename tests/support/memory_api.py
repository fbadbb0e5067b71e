"""The HTTP API in memory: all routes as one ASGI app on memory tables, called without a server."""

import asyncio
import json
import uuid
from typing import Any

import httpx

from functions.http.app import http_app
from functions.request import account_routes, link_routes, order_routes, routes, runner_routes
from functions.status import account_routes as status_accounts
from functions.status import routes as status_routes
from shared.domain.routes import Place
from shared.domain.tokens import FIRST, Scope
from shared.ports.tables import Table
from shared.store.bundle import store_on
from shared.store.keys import DIRECTORY
from shared.use_cases.people.authenticate import hash_of, new_token
from tests.support.http_contract import check
from tests.support.memory_tables import MemoryTables
from tests.support.use_case_world import World

MODULES = (routes, account_routes, link_routes, runner_routes, order_routes, status_routes, status_accounts)


class MemoryApi(httpx.BaseTransport):
    """Clients of one service. Nothing happens but what a test calls; the client checks each response with the contract."""

    def __init__(self) -> None:
        self.tables = MemoryTables()
        self.world = World(store_on(self.tables))
        self._app = httpx.ASGITransport(http_app(self.world.services, *(module.router for module in MODULES)))

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        async def answer() -> httpx.Response:
            found = await self._app.handle_async_request(request)
            return httpx.Response(found.status_code, headers=found.headers, content=await found.aread())

        return asyncio.run(answer())

    def with_token(self, token: str) -> httpx.Client:
        headers = {"Authorization": f"Bearer {token}"}
        hooks = {"response": [check]}
        return httpx.Client(transport=self, base_url="http://test", headers=headers, event_hooks=hooks)

    def client(self, user_id: str, *scopes: Scope, **more: Any) -> httpx.Client:
        """A client with a new token of this user."""
        token = new_token(user_id)
        self.world.store.accounts.add_token(user_id, hash_of(token), scopes=frozenset(scopes) or FIRST, **more)
        return self.with_token(token)

    def newcomer(self) -> httpx.Client:
        """A client of a new user, who has a home."""
        user_id = f"u{uuid.uuid4().hex[:8]}"
        self.world.store.accounts.set_home(user_id, Place("chat", f"home of {user_id}"))
        return self.client(user_id)

    def process(self, answer: httpx.Response) -> None:
        """Let the service work on the handoff that was accepted with this answer."""
        handoff = self.world.store.handoffs.get(answer.raise_for_status().json()["id"])
        assert handoff is not None
        self.world.process(handoff)
        self.world.turns()

    def snapshot(self) -> list[str]:
        """All items, but for the days on which tokens were used."""
        items = [item for table in Table for item in self.tables.scan(table) if item.get("pk") != DIRECTORY]
        return sorted(json.dumps(item, sort_keys=True, default=repr) for item in items)
