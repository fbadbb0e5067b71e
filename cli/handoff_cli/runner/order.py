"""One order: what the user asks of this machine outside a turn. Taken, done, answered."""

import asyncio
import hashlib
import json
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from handoff_cli.runner.acp.errors import AgentFailed
from handoff_cli.runner.acp.options import DIALS, Dial
from handoff_cli.runner.agent import Agent
from handoff_cli.runner.runner import Runner
from handoff_cli.runner.wire.verdicts import Answer, Verdict

_TRIES = 8

Json = dict[str, Any]
Do = Callable[[Json], Awaitable[Json | None]]
"""Does what a taken order says; returns the answer, None if the order is done without one."""


class Order:
    """Safe to run again after a crash: the service lets it be taken again, and what it sets is set once more."""

    def __init__(self, runner: Runner, order_id: str) -> None:
        self._runner, self._id = runner, order_id
        self._claim = {"claim_id": uuid.uuid4().hex}

    async def run(self, do: Do, *, beside: Agent | None = None) -> bool:
        """Take it, do it and answer. Never raises for what the service or the agent do.

        `beside`: the agent of a turn at work, which may end it meanwhile. False then: it needs another agent.
        """
        taken = await self._repeat("take", lambda: self._runner.service.take_order(self._id, self._claim))
        if taken.verdict is not Verdict.GO_ON:
            return True
        if beside is not None and not beside.is_open:
            return False
        fence, lease = taken.body["fence"], float(taken.body["lease_seconds"])
        renewing = asyncio.create_task(self._renew(fence, lease))
        try:
            async with asyncio.timeout(float(taken.body["ends_in"])):
                body = await do({**taken.body, "order_id": self._id})
        except TimeoutError:
            return True
        finally:
            renewing.cancel()
        if body is None:
            return True
        said = {**body, "fence": fence}
        said["digest"] = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        await self._repeat("answer", lambda: self._runner.service.answer_order(self._id, said))
        return True

    async def _renew(self, fence: int, lease: float) -> None:
        while True:
            await self._runner.clock.sleep(lease / 3)
            with suppress(OSError):
                await self._runner.service.renew_order(self._id, {"fence": fence})

    async def _repeat(self, what: str, call: Callable[[], Awaitable[Answer]]) -> Answer:
        return await repeated(self._runner, what, self._id, call)


async def repeated(runner: Runner, what: str, order_id: str, call: Callable[[], Awaitable[Answer]]) -> Answer:
    """Until the service answers, but not for long: an order that nobody answers is void soon."""
    answer = Answer(0)
    for failures in range(1, _TRIES + 1):
        answer = await call()
        runner.report.log(f"order_{what}", order=order_id, status=answer.status, code=answer.noted)
        if answer.verdict is not Verdict.RETRY:
            break
        await runner.back_off(failures, answer)
    return answer


def refused(text: str) -> Json:
    """The answer to an order that is not done, with what the person is told."""
    return {"outcome": "refused", "text": text}


def set_dial(agent: Agent) -> Do:
    """Show or set an option of the agent."""

    async def do(taken: Json) -> Json:
        try:
            if not agent.is_open:
                await agent.open(lambda _: None)
            return await _dial(agent, str(taken["kind"]), str(taken["argument"]))
        except AgentFailed as problem:
            return refused(f"{problem} Nothing was changed.")

    return do


async def _dial(agent: Agent, kind: str, argument: str) -> Json:
    dial = agent.dial(kind) if kind in DIALS else None
    if dial is None:
        return refused(f"{agent.title} has no {kind} to choose here.")
    if not argument:
        return {"outcome": "done", **dial.body()}
    value = dial.named(argument)
    if value is None:
        return {**refused(f"{agent.title} offers no such {kind}."), **dial.body()}
    now: Dial | None = await agent.choose(kind, value)
    if now is None or now.current != value:
        return {**refused(f"{agent.title} did not take it."), **(now or dial).body()}
    return {"outcome": "done", **now.body()}
