"""What the service is told of this runner, as it begins and when that has changed."""

import asyncio
from collections.abc import Sequence
from typing import Any

from handoff_cli.errors import CliError, NotAccepted
from handoff_cli.runner.agents.spec import Installed
from handoff_cli.runner.errands import Errands
from handoff_cli.runner.runner import Runner
from handoff_cli.runner.wire.verdicts import Answer, Verdict


class Registration:
    """Of one runner. `user` is who it works for; empty if the service does not tell."""

    def __init__(self, runner: Runner, agents: Sequence[Installed], errands: Errands) -> None:
        self._runner, self._errands = runner, errands
        self._agents = [_described(agent) for agent in agents]
        self._projects: list[str] | None = None
        self.user = ""

    async def begin(self) -> None:
        """Until the service answers. Raises CliError if it does not take this runner."""
        failures = 0
        while True:
            labels = await self._labels()
            answer = await self._runner.service.register(
                name=self._runner.identity.name, agents=self._agents, orders=self._errands.kinds, projects=labels
            )
            self._runner.report.log("register", status=answer.status, code=answer.noted)
            if answer.verdict is Verdict.GO_ON:
                self._runner.hears_service()
                self.user, self._projects = answer.body.get("user", ""), labels
                return
            if answer.verdict is not Verdict.RETRY or answer.status == 404:
                raise _not_registered(answer)
            failures += 1
            self._runner.misses_service(answer)
            await self._runner.clock.sleep(self._runner.clock.pause(failures, answer.retry_after))

    async def renew(self) -> None:
        """Tell it again if the user has listed other projects. Raises as `begin`."""
        if await self._labels() != self._projects:
            await self.begin()

    async def _labels(self) -> list[str]:
        return await asyncio.to_thread(lambda: self._errands.labels)


def _described(agent: Installed) -> dict[str, Any]:
    """The agent as the service knows it. A service that does not know of unattended ones must not get their turns."""
    about = {"name": agent.spec.name, "version": agent.version}
    return {**about, "unattended": True} if agent.unattended else about


def _not_registered(answer: Answer) -> CliError:
    if answer.verdict in {Verdict.REVOKED, Verdict.TOO_OLD}:
        remedy = "Update it." if answer.verdict is Verdict.TOO_OLD else "Create a token: handoff tokens new --scope run"
        return NotAccepted(f"The service does not accept this runner ({answer.why}). {remedy}")
    if answer.code == "unknown_runner":
        return NotAccepted("This machine's runner belongs to another user of the service. Use your own account.")
    if answer.status == 404:
        return CliError("This service has no runners: it is too old, or the URL is not right.")
    return CliError(f"The service does not take this runner ({answer.why}).")
