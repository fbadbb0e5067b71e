"""Commands about who answers in a chat."""

from shared.domain.sessions import Executor, Session
from shared.services import Services
from shared.store.inbox import InboxRow
from shared.use_cases.access import session_at
from shared.use_cases.offers import machine_for, wake_place
from shared.use_cases.retry import on_conflict
from shared.use_cases.unattended import UNATTENDED, is_unattended

NO_SESSION = "No session of yours lives here. Send `/resume` to list yours and bring one here."
NO_MACHINE = (
    "This session has no machine: the model of this service answers it. "
    "Hand a session of your own agent over with `handoff send --from …` while `handoff run` runs on your machine."
)


def choose_cloud(services: Services, row: InboxRow, _: str) -> str:
    """`/cloud`: the deployment's agent answers from now on, also what waits for the machine."""
    session = _choose(services, row, Executor.CLOUD)
    if session is None:
        return NO_SESSION
    if session.runs_on is None:
        return NO_MACHINE
    if session.turn is not None and session.turn.by is Executor.MACHINE:
        return "Your machine finishes what it works on; from your next message on the model of this service answers."
    return (
        "The model of this service answers here now. It has the conversation, but not your files and tools. "
        "Send `/machine` to let your own agent answer again: it is told what was said without it."
    )


def choose_machine(services: Services, row: InboxRow, _: str) -> str:
    """`/machine`: the user's own agent answers from now on."""
    session = _choose(services, row, Executor.MACHINE)
    if session is None:
        return NO_SESSION
    if session.runs_on is None:
        return NO_MACHINE
    runner = machine_for(services, session)
    if runner is None:
        return "The machine of this session was revoked, so the model of this service answers."
    if not runner.is_online(services.clock.now()):
        return f"Your own agent on **{runner.name}** answers here again, but that machine is away now. Messages wait for it."
    how = f", {UNATTENDED}" if is_unattended(runner, session) else ""
    return f"Your own agent on **{runner.name}** answers here again{how}."


def _choose(services: Services, row: InboxRow, executor: Executor) -> Session | None:
    """Set who answers, and wake the place so that messages that wait are offered again."""

    def choose() -> Session | None:
        session = own_session_at(services, row)
        if session is None or session.runs_on is None:
            return session
        chosen = services.store.machine_turns.choose(session, executor, now=services.clock.now())
        if chosen.turn is None:
            wake_place(services, row.place, session.id, why=f"{executor.value} {row.event_id}")
        return chosen

    return on_conflict(choose)


def own_session_at(services: Services, row: InboxRow) -> Session | None:
    """The sender's session that lives at the place of a message."""
    session = session_at(services, row.place)
    return session if session is not None and session.user_id == row.user_id else None
