"""Find the programs of an agent and ask for their versions, before any turn is claimed."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from handoff_cli.errors import CliError
from handoff_cli.runner.agents.spec import AgentSpec, DoesNotAsk, Installed, Npm, Program, Version
from handoff_cli.runner.settings import Settings, settings_path

_SECONDS = 30
_PRIVATE = re.compile("HANDOFF_.*TOKEN|HANDOFF_SUPERVISOR")


class AgentUnusable(CliError, code="agent_unusable"):
    """An agent cannot be used; the message says which command mends it."""


class NotInstalled(AgentUnusable):
    """The user does not have this agent at all."""


def find_agent(
    spec: AgentSpec, environ: Mapping[str, str], command: tuple[str, ...] = (), *, unattended: bool = False
) -> Installed:
    """The agent, ready to start; `command` replaces the table's. Raises AgentUnusable.

    `unattended`: the user lets it work even if it is not made to ask before each step.
    """
    environ = without_secrets(environ)
    program = _which(spec.program.command, environ)
    if program is None and not command:
        raise NotInstalled(f"{spec.title} is not installed ({spec.program.command}). Run: {spec.program.install}")
    if spec.unsupported and not command:
        raise AgentUnusable(spec.unsupported)
    version = _checked_version(spec, program, environ) if program else ""
    start = command or _start(spec, str(program), environ)
    alone = unattended and not spec.asking_modes
    agent = Installed(spec, start, _environment(spec, program, environ), version, str(program or ""), unattended=alone)
    if not alone:
        try:
            _refuse_unasked(agent, is_replaced=bool(command))
        except DoesNotAsk as why:
            settings = settings_path(environ)
            raise AgentUnusable(
                f"{spec.title} is not driven, because {why}: what is said in a thread could run at once. To allow that on "
                f"this machine, write into {settings}: [agents.{spec.name}] and below it: unattended = true"
            ) from why
    return agent


def without_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """For programs that the runner starts: with a token they could act as the user on a service."""
    return {name: value for name, value in environ.items() if not _PRIVATE.fullmatch(name)}


def _refuse_unasked(agent: Installed, *, is_replaced: bool) -> None:
    """Raise DoesNotAsk unless the agent asks before each step, or can be made to."""
    forcing = agent.spec.forcing
    if agent.spec.asking_modes:
        return
    if forcing is None or is_replaced:
        raise DoesNotAsk("nothing is known of how it asks before each step")
    if parse_version(agent.version)[: len(forcing.versions)] != forcing.versions:
        tested = ".".join(map(str, forcing.versions))
        raise DoesNotAsk(f"only of {agent.spec.title} {tested} it is tested that it asks before each step")
    agent.environ_in(Path(agent.environ.get("HOME") or "/"))


def usable_agents(
    specs: Iterable[AgentSpec], environ: Mapping[str, str], settings: Settings
) -> tuple[list[Installed], list[AgentUnusable]]:
    """The agents that can be started, and why the others cannot."""
    found: list[Installed] = []
    problems: list[AgentUnusable] = []
    for spec in specs:
        try:
            command, alone = settings.commands.get(spec.name, ()), spec.name in settings.unattended
            found.append(find_agent(spec, environ, command, unattended=alone))
        except AgentUnusable as problem:
            problems.append(problem)
    return found, problems


def _start(spec: AgentSpec, program: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    adapter = spec.adapter
    if adapter is None:
        return program, *spec.arguments
    node = _node(spec, adapter, environ)
    script = _which(adapter.command, environ)
    if script is None:
        raise AgentUnusable(f"{spec.title} needs {adapter.package} to be driven. Run: {adapter.install}")
    package, version = _package(script)
    if package != adapter.package:
        found = package or f"another program ({script})"
        raise AgentUnusable(f"{adapter.command} is {found}, not {adapter.package}. Run: {adapter.install}")
    if parse_version(version) < adapter.minimum:
        raise AgentUnusable(f"{adapter.package} {version} is too old. Run: {adapter.install}")
    return node, str(script.resolve()), *spec.arguments


def _node(spec: AgentSpec, adapter: Npm, environ: Mapping[str, str]) -> str:
    node = _which("node", environ)
    wanted = ".".join(map(str, adapter.node))
    if node is None:
        raise AgentUnusable(
            f"{spec.title} needs node {wanted} or newer, which is not installed. See https://nodejs.org"
        )
    version = _ask_version(node, environ)
    if parse_version(version) < adapter.node:
        raise AgentUnusable(
            f"{spec.title} needs node {wanted} or newer; yours is {version}. Run: npm install -g node@24"
        )
    return str(node)


def _checked_version(spec: AgentSpec, path: Path, environ: Mapping[str, str]) -> str:
    program: Program = spec.program
    if program.minimum is None:
        return ""
    version = _ask_version(path, environ)
    if parse_version(version) < program.minimum:
        wanted = ".".join(map(str, program.minimum))
        raise AgentUnusable(f"{spec.title} {version} is too old; it needs {wanted} or newer. Run: {program.update}")
    return version


def _environment(spec: AgentSpec, program: Path | None, environ: Mapping[str, str]) -> dict[str, str]:
    """The agent's environment: the user's, with what the agent needs where the user has set nothing."""
    added = {**spec.environ, **(spec.root_environ if os.geteuid() == 0 else {})}
    if spec.program_variable and program:
        added[spec.program_variable] = str(program)
    # The hooks of an agent that this product installs let prompts of the runner pass.
    return {**added, **environ, "HANDOFF_HOST": "1"}


def _which(command: str, environ: Mapping[str, str]) -> Path | None:
    found = shutil.which(command, path=environ.get("PATH", ""))
    return Path(found) if found else None


def _ask_version(program: Path, environ: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - the user's own program, with a fixed argument
            [str(program), "--version"],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise AgentUnusable(
            f"{program} does not tell its version ({type(error).__name__}). Install it again."
        ) from error
    found = re.search(rb"\d+(?:\.\d+)+", done.stdout + b"\n" + done.stderr)
    if found is None:
        raise AgentUnusable(f"{program} does not tell its version. Install it again.")
    return found[0].decode()


def parse_version(text: str) -> Version:
    """`2.1.325` as numbers; what follows the numbers is ignored."""
    found = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(map(int, found[0].split("."))) if found else ()


def _package(script: Path) -> tuple[str, str]:
    """(name, version) of the npm package to which a program belongs; empty if it is not one."""
    for folder in script.resolve().parents:
        try:
            about = json.loads((folder / "package.json").read_bytes())
        except (OSError, ValueError):
            continue
        if isinstance(about, dict) and about.get("name"):
            return str(about["name"]), str(about.get("version") or "")
    return "", ""
