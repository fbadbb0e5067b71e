"""HTTP calls of runners about orders: what a person asks of a machine outside a turn."""

from fastapi import APIRouter

from functions.http.dependencies import AppServices, PathId, RunningUser
from functions.http.problems import Json, refusals
from functions.request.order_bodies import AnswerBody, OrderAnswered, OrderRenewed, RenewBody, TakeBody, TakenOrder
from functions.request.routes import BODY
from shared.domain.orders import LEASE
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
