"""Properties of one agent that the runner needs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from handoff_cli.errors import CliError

Version = tuple[int, ...]


class DoesNotAsk(CliError, code="agent_unusable"):
    """Why an agent cannot be made to ask before each step, as the end of a sentence that begins with "because"."""


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
class Forcing:
    """Makes an agent ask that has no mode for it. Tested with the real program, of these `versions`.

    `environ` returns variables for the program, the user's environment and a directory, after the program itself has
    told that it asks with them. Raises DoesNotAsk.
    """

    versions: Version
    environ: Callable[[str, Mapping[str, str], Path], Mapping[str, str]]


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
    """Modes in which the agent asks before each step, the best one first; set after the session is opened, and set back
    when the agent leaves them."""
    mode_option: str = ""
    """The id of the option that users may choose as its mode, where that is another one than its category's."""
    mode_values: tuple[str, ...] = ()
    """Values of that option; none of them lets it run steps unasked."""
    forcing: Forcing | None = None
    titles_are_commands: bool = False
    """A request to run a command has no arguments: its title is the whole command."""
    environ: Mapping[str, str] = field(default_factory=dict)
    root_environ: Mapping[str, str] = field(default_factory=dict)
    busy_marks: tuple[str, ...] = ()
    """Texts in an error that says that the terminal still holds the session."""
    busy_seconds: float = 0
    new_minute: bool = False
    open_seconds: float = 60
    stays_open: Literal["no", "alone", "watched"] = "no"
    """May its process stay between turns? `alone`: no other process can write the session meanwhile. `watched`: its
    file tells whether one did."""
    tools: Literal["no", "listed", "named"] = "no"
    """Is it given our tools when a session is opened? `named`: the model is not told of them, so the first prompt does."""
    opened_with: Mapping[str, Any] = field(default_factory=dict)
    """What else is said when a session is opened with them: no permission is asked for them."""
    unsupported: str = ""
    """Why it cannot be used at all."""

    @property
    def modes_to_choose(self) -> tuple[str, ...]:
        """The modes that a user may choose: in all of them it asks before each step."""
        return self.mode_values if self.mode_option else self.asking_modes

    def native_command(self, native_id: str) -> list[str]:
        """The command that continues the session in the terminal; empty if it is not known."""
        return [word.replace("{id}", native_id) for word in self.native]


@dataclass(frozen=True)
class Installed:
    """An agent of this machine that can be started: every program was found and is new enough.

    `unattended`: the user lets it work although it is not made to ask before each step.
    """

    spec: AgentSpec
    command: tuple[str, ...]
    environ: Mapping[str, str]
    version: str
    program: str = ""
    unattended: bool = False

    def stamp(self) -> tuple[tuple[int, int], ...]:
        """Differs when one of its programs was replaced, as an update does."""
        files = [Path(word).stat() for word in (*self.command, self.program) if word and Path(word).is_file()]
        return tuple((file.st_mtime_ns, file.st_ino) for file in files)

    def environ_in(self, directory: Path) -> Mapping[str, str]:
        """Its environment for a session in this directory, in which it asks. Takes a second. Raises DoesNotAsk."""
        if self.spec.forcing is None:
            return self.environ
        try:
            return {**self.environ, **self.spec.forcing.environ(self.program, self.environ, directory)}
        except DoesNotAsk:
            if self.unattended:
                return self.environ
            raise
