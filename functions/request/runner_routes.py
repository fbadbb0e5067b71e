"""HTTP calls of runners: the machines on which users' own agents run turns."""

import asyncio

from fastapi import APIRouter

from functions.http.dependencies import AppServices, PathId, RunningCaller, RunningUser, Wait, WarmSessions, Writer
from functions.http.held import hold
from functions.http.problems import Json, refusals
from functions.request.handoff_body import NATIVE_ID, checked
from functions.request.order_bodies import WaitingOrder
from functions.request.routes import BODY, WRITE
from functions.request.runner_bodies import (
    ClaimBody,
    ClaimedTurn,
    EventsBody,
    EventsView,
    FenceBody,
    RegisteredRunner,
    Renewed,
    ResultBody,
    ResultView,
    RunnerBody,
    WaitingTurn,
    WaitingTurns,
)
from functions.views import RunnerView
from shared.errors import InvalidRequest
from shared.ports.changes import of_runner, of_session
from shared.services import Services
from shared.use_cases.runners.claim_machine_turn import begin_turn, claim_machine_turn
from shared.use_cases.runners.live_turn import TurnName
from shared.use_cases.runners.register import (
    is_sign_due,
    note_sign,
    poll,
    register_runner,
    released_sessions,
    revoke_runner,
)
from shared.use_cases.runners.report_turn import report_turn
from shared.use_cases.runners.take_result import MachineResult, take_result

router = APIRouter(default_response_class=Json)
RUNNER = ("unknown_runner", "runner_revoked")
TURN = (*RUNNER, "unknown_session", "unknown_turn", "ended")


@router.put("/runners/{runner_id}", responses=refusals(*BODY, "runner_revoked", "runner_too_old"))
def put_runner(runner_id: PathId, body: RunnerBody, services: AppServices, user_id: RunningUser) -> RegisteredRunner:
    """Register a machine of yours, or change what is known of it. It chooses its id once."""
    agents = {agent.name: agent.version for agent in body.agents}
    runner = register_runner(
        services,
        user_id,
        runner_id,
        name=body.name,
        agents=agents,
        version=body.version,
        protocol=body.protocol,
        unattended=[agent.name for agent in body.agents if agent.unattended],
        orders=body.orders,
        projects=body.projects,
    )
    now = services.clock.now()
    return RegisteredRunner(
        **RunnerView.of(runner, now=now).model_dump(),
        user=user_id,
        file_limit=services.settings.file_bytes,
        poll_after_ms=runner.poll_after_ms(now),
        lease_seconds=_lease(services),
    )


@router.delete("/runners/{runner_id}", status_code=204, responses=refusals(*WRITE, "unknown_runner"))
def delete_runner(runner_id: PathId, services: AppServices, user_id: Writer) -> None:
    """Revoke a runner: it claims and commits nothing any more, and its turns are taken back."""
    revoke_runner(services, user_id, runner_id)


@router.get("/runners/{runner_id}/turns", responses=refusals(*WRITE, *RUNNER))
async def get_turns(
    runner_id: PathId,
    services: AppServices,
    caller: RunningCaller,
    wait: Wait = 0,
    warm: WarmSessions = (),
) -> WaitingTurns:
    """The turns and orders that wait for this runner. A service on one machine holds the call up to `wait` seconds until
    there is one.

    `warm` names sessions that the runner keeps open between turns; `release` lists those that are not its any more.
    """
    found = await hold(
        services,
        caller,
        [of_runner(caller.user_id, runner_id), *map(of_session, warm)],
        wait,
        read=lambda: (
            poll(services, caller.user_id, runner_id),
            released_sessions(services, caller.user_id, runner_id, warm),
        ),
        is_news=lambda read: bool(read[0].turns or read[0].orders or read[1]) or is_sign_due(services, read[0].runner),
    )
    (runner, pointers, orders), release = found.value
    if is_sign_due(services, runner):
        await asyncio.to_thread(note_sign, services, runner)  # a write may wait for others, and the loop must not
    turns = [
        WaitingTurn(
            session_id=pointer.session_id,
            turn_id=pointer.turn_id,
            agent=pointer.agent,
            native_id=pointer.native_id,
            kind="kickoff" if pointer.is_kickoff else "words",
        )
        for pointer in pointers
    ]
    is_held = found.was_held and not (turns or orders)
    return WaitingTurns(
        turns=turns,
        orders=[WaitingOrder.of(order) for order in orders],
        release=release,
        poll_after_ms=0 if is_held else runner.poll_after_ms(services.clock.now()),
        lease_seconds=_lease(services),
    )


@router.post("/runners/{runner_id}/turns/{turn_id}/claim", responses=refusals(*BODY, *TURN, "taken"))
def post_claim(
    runner_id: PathId, turn_id: PathId, body: ClaimBody, services: AppServices, user_id: RunningUser
) -> ClaimedTurn:
    """Claim a turn. Idempotent by `claim_id`. A refusal `taken` means that another process works on it."""
    name = TurnName(user_id, runner_id, body.session_id, turn_id)
    claim = claim_machine_turn(services, name, claim_id=body.claim_id, previous_fence=body.previous_fence)
    return ClaimedTurn.of(claim, now=services.clock.now(), lease_seconds=_lease(services))


@router.post("/runners/{runner_id}/turns/{turn_id}/begin", responses=refusals(*BODY, *TURN, "superseded"))
def post_begin(
    runner_id: PathId, turn_id: PathId, body: FenceBody, services: AppServices, user_id: RunningUser
) -> Renewed:
    """Say that the agent is about to be prompted. Only a success permits the prompt."""
    begin_turn(services, TurnName(user_id, runner_id, body.session_id, turn_id, body.fence))
    return Renewed(lease_seconds=_lease(services))


@router.post("/runners/{runner_id}/turns/{turn_id}/events", responses=refusals(*BODY, *TURN, "superseded"))
def post_events(
    runner_id: PathId, turn_id: PathId, body: EventsBody, services: AppServices, user_id: RunningUser
) -> EventsView:
    """Report progress and questions, and renew the lease. The answer says what was decided and what else was said."""
    name = TurnName(user_id, runner_id, body.session_id, turn_id, body.fence)
    return EventsView.of(report_turn(services, name, body.domain()), lease_seconds=_lease(services))


@router.post(
    "/runners/{runner_id}/turns/{turn_id}/result", responses=refusals(*BODY, *TURN, "superseded", "other_result")
)
def post_result(
    runner_id: PathId, turn_id: PathId, body: ResultBody, services: AppServices, user_id: RunningUser
) -> ResultView:
    """Commit what the agent said. A repeat with the same digest succeeds again."""
    messages = checked(body.messages)
    if any(message["role"] not in {"assistant", "tool"} for message in messages):
        raise InvalidRequest("A result has messages of the roles `assistant` and `tool` only.")
    reply = messages[-1].get("content")
    if messages[-1]["role"] != "assistant" or not isinstance(reply, str) or not reply.strip():
        raise InvalidRequest(
            "The last message of a result is the reply: role `assistant`, with a text as its `content`."
        )
    result = MachineResult(
        body.digest,
        messages,
        reply,
        body.given,
        is_failure=body.outcome == "failed",
        summary=body.summary.domain() if body.summary else None,
        usage=body.usage.domain() if body.usage else None,
        answered=body.answered,
        native_id=body.native_id if body.native_id and NATIVE_ID.fullmatch(body.native_id) else "",
        commands=None if body.commands is None else {one.name: one.description for one in body.commands},
    )
    take_result(services, TurnName(user_id, runner_id, body.session_id, turn_id, body.fence), result)
    return ResultView(state="done")


def _lease(services: Services) -> int:
    return services.settings.turn_lease // 1000
