"""A user's machine, and the thread of a session that it has confirmed."""

import pytest

from shared.domain.routes import Place
from tests.support.machine import Machine
from tests.support.use_case_world import World


@pytest.fixture
def machine(world: World) -> Machine:
    return Machine(world)


@pytest.fixture
def place(machine: Machine) -> Place:
    """The thread of a session that its machine has confirmed: four messages."""
    return machine.moved()
