"""HTTP calls of runners about orders: what a person asks of a machine outside a turn."""

from fastapi import APIRouter

from functions.http.dependencies import AppServices, PathId, RunningUser
from functions.http.problems import Json, refusals
from functions.request.handoff_body import checked
from functions.request.order_bodies import (
    AddedBody,
    AddedMessages,
    AnswerBody,
    MadeBody,
    MadeSession,
    OrderAnswered,
    OrderRenewed,
    RenewBody,
    RequestBody,
    RequestedHandoff,
    TakeBody,
    TakenOrder,
)
from functions.request.routes import BODY, MOVE
from shared.domain.orders import LEASE
from shared.use_cases.runners.move_by_order import add_messages, make_session, request_by_order
from shared.use_cases.runners.take_order import OrderName, answer_order, renew_order, take_order

router = APIRouter(default_response_class=Json)
ORDER = (*BODY, "unknown_runner", "runner_revoked", "unknown_order", "ended")


@router.post("/runners/{runner_id}/orders/{order_id}/take", responses=refusals(*ORDER, "taken"))
def post_take(
    runner_id: PathId, order_id: PathId, body: TakeBody, services: AppServices, user_id: RunningUser
) -> TakenOrder:
    """Take an order, to do it now. Idempotent by `claim_id`. A refusal `taken` means that another process works on it."""
    order = take_order(services, OrderName(user_id, runner_id, order_id), claim_id=body.claim_id)
    return TakenOrder.at(order, now=services.clock.now())


@router.post("/runners/{runner_id}/orders/{order_id}/renew", responses=refusals(*ORDER))
def post_renew(
    runner_id: PathId, order_id: PathId, body: RenewBody, services: AppServices, user_id: RunningUser
) -> OrderRenewed:
    """Say that you still work on an order."""
    renew_order(services, OrderName(user_id, runner_id, order_id, body.fence))
    return OrderRenewed(lease_seconds=LEASE // 1000)


@router.post("/runners/{runner_id}/orders/{order_id}/answer", responses=refusals(*ORDER, "other_result"))
def post_answer(
    runner_id: PathId, order_id: PathId, body: AnswerBody, services: AppServices, user_id: RunningUser
) -> OrderAnswered:
    """Say how an order ended; the person reads it in the chat. A repeat with the same digest succeeds again."""
    answer_order(services, OrderName(user_id, runner_id, order_id, body.fence), body.domain())
    return OrderAnswered(state="done")


@router.put(
    "/runners/{runner_id}/orders/{order_id}/session",
    responses=refusals(*ORDER, "unknown_session", "moved", "handoff_in_flight"),
)
def put_order_session(
    runner_id: PathId, order_id: PathId, body: MadeBody, services: AppServices, user_id: RunningUser
) -> MadeSession:
    """Store the one session that a taken order is to move: a new one, or one that runs on this runner already. Idempotent."""
    session = make_session(services, OrderName(user_id, runner_id, order_id, body.fence), body.domain())
    if session is None:
        return MadeSession(state="done", message_count=0)
    return MadeSession(state="taken", message_count=session.message_count)


@router.post(
    "/runners/{runner_id}/orders/{order_id}/messages",
    responses=refusals(*ORDER, "unknown_session", "moved", "out_of_sequence", "session_busy", "storage_full"),
)
def post_order_messages(
    runner_id: PathId, order_id: PathId, body: AddedBody, services: AppServices, user_id: RunningUser
) -> AddedMessages:
    """Add messages to the session of a taken order. Idempotent: those that are stored already are compared."""
    name = OrderName(user_id, runner_id, order_id, body.fence)
    session = add_messages(services, name, after=body.after, messages=checked(body.messages, first=body.after))
    return AddedMessages(message_count=session.message_count)


@router.post(
    "/runners/{runner_id}/orders/{order_id}/handoff",
    responses=refusals(*ORDER, *MOVE),
)
def post_order_handoff(
    runner_id: PathId, order_id: PathId, body: RequestBody, services: AppServices, user_id: RunningUser
) -> RequestedHandoff:
    """Move the session of a taken order into a new thread of the chat that asked. The order is done with it.

    Once: a repeat gets the same handoff.
    """
    handoff = request_by_order(services, OrderName(user_id, runner_id, order_id, body.fence))
    return RequestedHandoff(handoff_id=handoff.id)
