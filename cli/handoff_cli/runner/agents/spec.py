"""Properties of one agent that the runner needs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Version = tuple[int, ...]


@dataclass(frozen=True)
class Program:
    """The user's own program; without `minimum` its version is not asked."""

    command: str
    minimum: Version | None
    install: str
    update: str


@dataclass(frozen=True)
class Npm:
    """An npm package that speaks ACP and starts the user's program."""

    command: str
    package: str
    minimum: Version
    node: Version

    @property
    def install(self) -> str:
        """The command that installs the version that is tested."""
        return f"npm install -g {self.package}@{'.'.join(map(str, (*self.minimum, 0, 0)[:3]))}"


@dataclass(frozen=True)
class AgentSpec:
    """One entry of the table. Texts with `{id}` get the native id of the session."""

    name: str
    title: str
    program: Program
    arguments: tuple[str, ...] = ()
    adapter: Npm | None = None
    program_variable: str = ""
    """The variable that tells the adapter where the user's program is: an older core would damage sessions."""
    native: tuple[str, ...] = ()
    in_terminal: str = ""
    """The command to type in a terminal where the session is still open."""
    opens: Literal["resume", "load"] = "resume"
    asking_modes: tuple[str, ...] = ()
    """Modes in which the agent asks before each step, the best one first; set after the session is opened."""
    environ: Mapping[str, str] = field(default_factory=dict)
    root_environ: Mapping[str, str] = field(default_factory=dict)
    busy_marks: tuple[str, ...] = ()
    """Texts in an error that says that the terminal still holds the session."""
    busy_seconds: float = 0
    new_minute: bool = False
    open_seconds: float = 60
    unsupported: str = ""
    """Why it cannot be used at all."""

    def native_command(self, native_id: str) -> list[str]:
        """The command that continues the session in the terminal; empty if it is not known."""
        return [word.replace("{id}", native_id) for word in self.native]


@dataclass(frozen=True)
class Agent:
    """An agent of this machine that can be started: every program was found and is new enough."""

    spec: AgentSpec
    command: tuple[str, ...]
    environ: Mapping[str, str]
    version: str
