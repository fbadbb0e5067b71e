"""`handoff doctor`: check everything that a handoff needs, and suggest fixes."""

import asyncio
import shlex
from collections.abc import Iterator
from datetime import UTC, datetime

from handoff_cli import __version__
from handoff_cli.api.transport import Json
from handoff_cli.commands.machine import machine_checks, of_its_own_service
from handoff_cli.config.file import config_path, read_config
from handoff_cli.context import Context
from handoff_cli.errors import CliError, Unreachable, UsageProblem
from handoff_cli.runner.clock import Clock
from handoff_cli.runner.machine.files import state_directory
from handoff_cli.runner.machine.open_agents import open_agents
from handoff_cli.runner.settings import read_settings, settings_path
from handoff_cli.runner.transcriber import problem_of
from handoff_cli.server_program import DEPLOY, ask_for_result, options

_CLOCK_SECONDS = 60
_MARKS = {True: ("✓", "green"), False: ("✗", "red"), None: ("?", "yellow")}


def doctor(context: Context) -> int:
    """0 if all checks pass, 4 if the service cannot be reached, else 1. Changes nothing."""
    checks: list[Json] = []
    for check in _checks(context):
        checks.append(check)
        _show(context, check)
    ok = all(check["ok"] is not False for check in checks)  # None: could not be checked, which is not a failure
    context.terminal.result({"ok": ok, "checks": checks})
    reached = next((check["ok"] for check in checks if check["name"] == "service"), False)
    return 0 if ok else 1 if reached else Unreachable.exit_code


def _checks(context: Context) -> Iterator[Json]:
    yield from _of_runner(context)
    of_stack = list(_of_stack(context))
    yield from of_stack
    of_machine = [] if of_stack else list(machine_checks(context))
    yield from of_machine
    found = of_its_own_service(context)
    if found is None:
        yield _check("service", ok=False, detail=f"{context.args.data} names no service that could be asked")
        return
    context = found
    try:
        configuration = context.configuration()
    except UsageProblem as problem:
        if not of_machine and not of_stack:
            raise
        yield _check("service", ok=False, detail=str(problem))
        return
    with context.service() as service:
        try:
            service.health()
        except CliError as error:
            yield _check("service", ok=False, detail=f"{error} (URL from {configuration.url_from})")
            return
        yield _check("service", ok=True, detail=f"{configuration.url} answers (URL from {configuration.url_from})")
        try:
            service.platforms()
        except CliError as error:
            yield _check("token", ok=False, detail=str(error))
            return
        yield _check("token", ok=True, detail=f"valid (from {configuration.token_from})")
        yield from _service_side(service.doctor())


def _of_runner(context: Context) -> Iterator[Json]:
    """What the runner of this machine has open, and whether its program for voice messages works, if it has one."""
    if found := list(open_agents(state_directory(context.environ))):
        yield _check("agents", ok=True, detail=f"{len(found)} open on this machine: {', '.join(found)}")
    path = settings_path(context.environ)
    try:
        command = read_settings(context.environ).voice
    except UsageProblem as problem:
        yield _check("runner", ok=False, detail=str(problem))
        return
    if command:
        problem_there = asyncio.run(problem_of(command, context.environ, Clock().transcribing))
        detail = f"{command[0]} transcribes voice messages for your agents on this machine"
        tried = f"{detail}; tried with a second of silence: {problem_there}"
        fix = f"mend the program, or `voice` in {path}"
        yield _check("voice", ok=problem_there is None, detail=tried if problem_there else detail, fix=fix)


def _of_stack(context: Context) -> Iterator[Json]:
    """Checks of the deployment that `--stack` names, which AWS answers with the operator's credentials; none without it."""
    if getattr(context.args, "stack", None) is None:
        return
    given = options(vars(context.args), "stack", "region", "profile")
    fix = f"{context.prog} deploy {shlex.join(given)}"
    try:
        code, found, problem = ask_for_result(
            context, DEPLOY, "check", f"--version={__version__}", *given, is_quiet=True
        )
    except CliError as error:
        yield {"name": "aws", "ok": False, "detail": str(error)}
        return
    if code != 0:
        yield {"name": "aws", "ok": False, "detail": problem}
        return
    yield from found["checks"]
    used = read_config(config_path(context.environ)).get("url")
    if found.get("url") and used != found["url"]:
        detail = f"this CLI uses {used or 'no service'}, the stack answers at {found['url']}"
        yield {"name": "config", "ok": None, "detail": detail, "fix": f"{fix} --switch"}


def _service_side(found: Json) -> Iterator[Json]:
    """The checks of the service itself, and how far its clock is away."""
    yield _clock(str(found.get("now") or ""))
    for check in found.get("checks") or []:
        ok = check.get("ok")
        yield {**check, "ok": ok if isinstance(ok, bool) else None}


def _clock(now: str) -> Json:
    try:
        away = abs((datetime.now(UTC) - datetime.fromisoformat(now)).total_seconds())
    except (ValueError, TypeError):
        return _check("clock", ok=True, detail="the service did not send its time")
    if away > _CLOCK_SECONDS:
        return _check(
            "clock", ok=False, detail=f"this machine's clock is {away:.0f} s off", fix="set the clock, or use NTP"
        )
    return _check("clock", ok=True, detail="correct to the minute")


def _check(name: str, *, ok: bool, detail: str, fix: str | None = None) -> Json:
    return {"name": name, "ok": ok, "detail": detail, **({"fix": fix} if fix else {})}


def _show(context: Context, check: Json) -> None:
    terminal = context.terminal
    mark = terminal.style(*_MARKS[check["ok"]])
    name = " ".join(filter(None, [check.get("platform"), check["name"]]))
    terminal.say(f"{mark} {name}: {check.get('detail') or ('ok' if check['ok'] else 'failed')}")
    if not check["ok"] and check.get("fix"):
        terminal.say(f"    {'see' if check['ok'] is None else 'fix'}: {check['fix']}")
