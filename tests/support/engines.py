"""The engines that faults are tried on: functions as on AWS, and one process on one file. Leases are seconds long."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from local.server import composition
from local.service import LocalService
from shared.agents.registry import build_agent
from shared.ports.agents import Agent
from shared.services import Services
from tests.support.function_kill_points import FunctionKillPoints
from tests.support.kill_cases import HIDDEN_RUN, HIDDEN_TURN, LEASE_SECONDS
from tests.support.kill_points import KillPoints
from tests.support.one_machine import WorkerKillPoints, one_machine
from tests.support.service import Service

FUNCTIONS, ONE_MACHINE = "functions", "one machine"
ENGINES = [FUNCTIONS, ONE_MACHINE]


@dataclass(frozen=True)
class Setting:
    """Times in seconds. A message of a place is given up after `receives`; `agent` may replace the agent."""

    lease: float = LEASE_SECONDS
    turn_lease: float = LEASE_SECONDS
    strikes: int = 3
    hidden_turn: int = HIDDEN_TURN
    receives: int = 100
    agent: Callable[[KillPoints, Agent], Agent] = lambda _, agent: agent


USUAL = Setting()


@dataclass(frozen=True)
class Faulty:
    """A running service whose work can be stopped at any call."""

    service: Service
    kill_points: KillPoints


def started(engine: str, directory: Callable[[], Path], setting: Setting = USUAL) -> AbstractContextManager[Faulty]:
    """An engine by its name. The directory is made if it needs one."""
    return faulty_functions(setting) if engine == FUNCTIONS else faulty_machine(directory(), setting)


@contextmanager
def faulty_functions(setting: Setting = USUAL) -> Iterator[Faulty]:
    """The functions in threads of this process."""
    kill_points = FunctionKillPoints()
    interceptors = kill_points.interceptors

    def with_agent(function: str, services: Services) -> Services:
        watched = interceptors.services(function, services)
        return replace(watched, agent=lambda: setting.agent(kill_points, services.agent()))

    parameters = {"LeaseSeconds": setting.lease, "TurnLeaseSeconds": setting.turn_lease, "Strikes": setting.strikes}
    with LocalService(
        mode="in_process",
        parameters={name: str(value) for name, value in parameters.items()},
        interceptors=replace(interceptors, services=with_agent),
    ) as running:
        sqs, outputs = running.engine.client("sqs"), running.stack.outputs
        turns, runs = outputs["TurnsQueueUrl"], outputs["RunsQueueUrl"]
        sqs.set_queue_attributes(QueueUrl=runs, Attributes={"VisibilityTimeout": str(HIDDEN_RUN)})
        given = sqs.get_queue_attributes(QueueUrl=turns, AttributeNames=["RedrivePolicy"])["Attributes"]
        redrive = {**json.loads(given["RedrivePolicy"]), "maxReceiveCount": setting.receives}
        changed = {"RedrivePolicy": json.dumps(redrive), "VisibilityTimeout": str(setting.hidden_turn)}
        sqs.set_queue_attributes(QueueUrl=turns, Attributes=changed)
        yield Faulty(running, kill_points)


@contextmanager
def faulty_machine(directory: Path, setting: Setting = USUAL) -> Iterator[Faulty]:
    """One process on one file: this one. A worker that is killed leaves its leases; the process goes on."""
    kill_points = WorkerKillPoints()
    environment = {
        "HANDOFF_LEASE_SECONDS": str(setting.lease),
        "HANDOFF_TURN_LEASE_SECONDS": str(setting.turn_lease),
        "HANDOFF_STRIKES": str(setting.strikes),
    }
    with pytest.MonkeyPatch.context() as patch:
        kill_points.install(patch)
        patch.setattr(composition, "TURN_VISIBILITY", float(setting.hidden_turn))
        patch.setattr(composition, "TURN_RECEIVES", setting.receives)
        patch.setattr(composition, "RUN_VISIBILITY", float(HIDDEN_RUN))
        patch.setattr(composition, "build_agent", lambda *given: setting.agent(kill_points, build_agent(*given)))
        with one_machine(directory, environment) as running:
            yield Faulty(running, kill_points)
