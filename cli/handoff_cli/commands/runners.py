"""`handoff runners`: list and revoke the user's runners."""

from handoff_cli.api.transport import Json
from handoff_cli.context import Context
from handoff_cli.runner.machine.files import state_directory
from handoff_cli.runner.machine.identity import known_identity
from handoff_cli.ui.text import aligned, one_line


def runners(context: Context) -> int:
    """List the runners; the one of this machine is marked."""
    with context.service() as service:
        found = service.runners()
    mine = known_identity(state_directory(context.environ))
    context.terminal.result(found)
    if not found:
        context.terminal.say(f"No runners yet. Start one on this machine with: {context.prog} run")
        return 0
    for line in aligned([_row(runner, mine.id if mine else None) for runner in found]):
        context.terminal.say(line)
    return 0


def revoke(context: Context) -> int:
    """Revoke a runner by its id, or the beginning of it."""
    with context.service() as service:
        ids = [str(runner["id"]) for runner in service.runners()]
        matching = [known for known in ids if known.startswith(context.args.id)]
        chosen = context.args.id if context.args.id in ids or len(matching) != 1 else matching[0]
        service.revoke_runner(chosen)
    context.terminal.result({"id": chosen, "revoked": True})
    context.terminal.say(f"Revoked {chosen}. It gets no more turns; those that it had are taken back.")
    return 0


def _row(runner: Json, mine: str | None) -> list[str]:
    agents = ", ".join(
        f"{agent.get('name')}{' (unattended)' if agent.get('unattended') else ''}"
        for agent in runner.get("agents") or []
    )
    seen = str(runner.get("last_seen") or "")[:16].replace("T", " ")
    state = "revoked" if runner.get("revoked") else "online" if runner.get("online") else f"last seen {seen or 'never'}"
    return [
        ("* " if runner["id"] == mine else "  ") + str(runner["id"])[:12],
        one_line(str(runner.get("name") or ""), 40),
        state,
        agents or "no agents",
    ]
