"""The service of a runner without HTTP: the routes themselves on memory tables; calls and answers may be lost."""

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Any, cast

from functions.request import order_routes, routes, runner_routes
from functions.request.bodies import FileBody
from functions.request.order_bodies import AnswerBody, RenewBody, TakeBody
from functions.request.runner_bodies import ClaimBody, EventsBody, FenceBody, ResultBody, RunnerBody
from handoff_cli.runner.outgoing.opened import OpenedFile, TextFile
from handoff_cli.runner.wire.verdicts import Answer
from shared.errors import RequestRefused, Retryable
from shared.services import Services
from shared.use_cases.people.authenticate import Caller
from tests.support.fake_queue import NOW
from tests.support.use_case_world import USER, World

RUNNER = "laptop"


class LocalService:
    """The calls of a runner process. One that was killed calls nothing any more."""

    accepts = frozenset({"orders", "sends"})
    file_limit = 1000

    def __init__(self, world: World, seed: random.Random, is_dead: Callable[[], bool]) -> None:
        self.world, self._random, self._is_dead = world, seed, is_dead
        self.calm = False

    @property
    def _services(self) -> Services:
        return self.world.services

    async def register(
        self, *, name: str, agents: list[dict[str, Any]], orders: Sequence[str] = (), projects: Sequence[str] = ()
    ) -> Answer:
        more = {"orders": list(orders), "projects": list(projects)}
        body = RunnerBody.model_validate({"name": name, "protocol": 1, "agents": agents, **more})
        return await self._call(lambda: runner_routes.put_runner(RUNNER, body, self._services, USER))

    async def turns(self, *, wait: int, warm: Sequence[str] = ()) -> Answer:
        """Answers at once, as on Lambda."""
        await self._pass(0.01)
        caller = Caller(USER, cast("Any", None), "")
        found = await runner_routes.get_turns(RUNNER, self._services, caller, min(wait, 0), list(warm))
        return Answer(200, found.model_dump(mode="json"))

    async def claim(self, turn_id: str, body: Any) -> Answer:
        given = ClaimBody.model_validate(body)
        return await self._call(lambda: runner_routes.post_claim(RUNNER, turn_id, given, self._services, USER))

    async def begin(self, turn_id: str, body: Any) -> Answer:
        given = FenceBody.model_validate(body)
        return await self._call(lambda: runner_routes.post_begin(RUNNER, turn_id, given, self._services, USER))

    async def events(self, turn_id: str, body: Any) -> Answer:
        given = EventsBody.model_validate(body)
        return await self._call(lambda: runner_routes.post_events(RUNNER, turn_id, given, self._services, USER))

    async def result(self, turn_id: str, body: Any) -> Answer:
        given = ResultBody.model_validate(body)
        return await self._call(lambda: runner_routes.post_result(RUNNER, turn_id, given, self._services, USER))

    async def take_order(self, order_id: str, body: Any) -> Answer:
        given = TakeBody.model_validate(body)
        return await self._call(lambda: order_routes.post_take(RUNNER, order_id, given, self._services, USER))

    async def renew_order(self, order_id: str, body: Any) -> Answer:
        given = RenewBody.model_validate(body)
        return await self._call(lambda: order_routes.post_renew(RUNNER, order_id, given, self._services, USER))

    async def answer_order(self, order_id: str, body: Any) -> Answer:
        given = AnswerBody.model_validate(body)
        return await self._call(lambda: order_routes.post_answer(RUNNER, order_id, given, self._services, USER))

    async def store_file(self, session_id: str, file: OpenedFile | TextFile) -> Answer:
        about = FileBody(sha256=file.sha256, size=file.size, type=file.media_type, name=file.name)
        answer = await self._call(lambda: routes.post_file(session_id, about, self._services, USER, ""))
        if upload := answer.body.get("upload"):
            await self._pass(0.01)
            self.world.files.take(upload["url"], b"".join(file.read()))
        return answer

    async def messages(self, session_id: str, *, after: int) -> Answer:  # noqa: ARG002 - the interface
        return Answer(200, {"messages": [], "next": None})

    async def _call(self, call: Callable[[], Any]) -> Answer:
        await self._pass(0.01)
        if not self.calm and self._random.random() < 0.05:
            return Answer(0)
        try:
            body = call().model_dump(mode="json")
        except RequestRefused as refused:
            return Answer(refused.status, {"code": refused.code})
        except Retryable:
            return Answer(503)
        self.world.messages()
        await self._pass(0.01)
        if not self.calm and self._random.random() < 0.05:
            return Answer(0)
        return Answer(200, body)

    async def _pass(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        if self._is_dead():
            await asyncio.get_running_loop().create_future()
        set_time(self.world)


def set_time(world: World) -> None:
    """The service's clock is that of the loop."""
    world.clock.time = max(world.clock.time, NOW + int(asyncio.get_running_loop().time() * 1000))
