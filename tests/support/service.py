"""What tests of the whole service need of it, on AWS as it is played here or in one process."""

from typing import Protocol

from local.chats.simulator import Simulator
from shared.store.bundle import Store


class Service(Protocol):
    """A running service with simulated chats."""

    @property
    def url(self) -> str: ...

    @property
    def tokens(self) -> dict[str, str]: ...

    @property
    def simulator(self) -> Simulator: ...

    @property
    def store(self) -> Store: ...

    def sweep_now(self) -> object:
        """Run the sweep, which comes each minute otherwise."""
