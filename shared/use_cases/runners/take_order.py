"""Take an order for a runner, renew it, and take in its answer."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from shared.domain.dials import DIALS, is_now, offered
from shared.domain.files import StoredFile, size_text
from shared.domain.orders import DIFF, MAX_ANSWER, SESSIONS, SILENT, Choice, Native, Order, OrderState
from shared.domain.question_text import code_block
from shared.errors import Conflict, InvalidRequest, OrderEnded, OrderTaken, OtherAnswer, Rejected, UnknownOrder
from shared.services import Services
from shared.use_cases.access import platform_of
from shared.use_cases.files.keep_file import is_there
from shared.use_cases.orders import hindrance, is_too_late, look_after, send_told, told_parts, void_order
from shared.use_cases.retry import on_conflict
from shared.use_cases.runners.register import own_runner
from shared.use_cases.runners.send_file import too_large


@dataclass(frozen=True)
class OrderName:
    """An order as its runner names it; `fence` is that of its take."""

    user_id: str
    runner_id: str
    order_id: str
    fence: int = 0


@dataclass(frozen=True)
class OrderAnswer:
    """What a runner answers. `current` is the value of the option now, `choices` what the agent offers for it.

    `listed` are native sessions; `diff` is shown as it is, after the text. `file` is a stored file of the order's session,
    which is posted beside it.
    """

    digest: str
    is_refused: bool = False
    text: str = ""
    current: str = ""
    choices: Sequence[Choice] = ()
    listed: Sequence[Native] = ()
    diff: str = ""
    file: str = ""

    @property
    def size(self) -> int:
        offered = (text for choice in self.choices for text in (choice.value, choice.name, choice.description))
        named = (text for one in self.listed for text in (one.id, one.title, one.project, one.agent, one.session_id))
        return sum(map(len, (self.text, self.current, self.diff, *offered, *named)))


def take_order(services: Services, name: OrderName, *, claim_id: str) -> Order:
    """Take an order. The same `claim_id` gets the same answer, at the same fence.

    Raises OrderTaken, OrderEnded (also for an order that cannot be done: it is void then), UnknownOrder.
    """
    runner = own_runner(services, name.user_id, name.runner_id)
    taken = on_conflict(lambda: _take(services, name, claim_id))
    services.store.runners.seen(runner, now=services.clock.now(), ran_turn=True)  # more of them may follow
    return taken


def _take(services: Services, name: OrderName, claim_id: str) -> Order:
    order = own_order(services, name)
    if order.claim_id == claim_id and order.state is OrderState.TAKEN:
        return order
    if look_after(services, order):
        raise OrderEnded(order.id)
    if not order.may_be_taken(services.clock.now()):
        raise OrderTaken(order.id)
    return services.store.orders.take(order, claim_id=claim_id, now=services.clock.now())


def renew_order(services: Services, name: OrderName) -> None:
    """Go on with an order beyond its lease. Raises OrderEnded if it is over or was taken again, UnknownOrder."""
    order = own_order(services, name)
    if not services.store.orders.renew(order, fence=name.fence, now=services.clock.now()):
        raise OrderEnded(order.id)


def answer_order(services: Services, name: OrderName, answer: OrderAnswer) -> None:
    """End an order with its answer. A repeat succeeds again.

    Raises OtherAnswer if it was answered otherwise, OrderEnded if it is void, was taken again or its session has moved,
    UnknownOrder, InvalidRequest.
    """
    if answer.size > MAX_ANSWER:
        raise InvalidRequest(f"An answer has at most {MAX_ANSWER} characters.")
    on_conflict(lambda: _answer(services, name, answer))


def _answer(services: Services, name: OrderName, answer: OrderAnswer) -> None:
    order = own_order(services, name)
    if order.state is OrderState.DONE and order.fence == name.fence:
        if order.digest != answer.digest:
            raise OtherAnswer(order.id)
        send_told(services, order)
        return
    if order.state is not OrderState.TAKEN or order.fence != name.fence:
        raise OrderEnded(order.id)
    session = services.store.sessions.get(order.session_id) if order.kind in DIALS else None
    file, missing = _file_of(services, order, answer)
    said, keeps = _told(order, replace(answer, text=" ".join(filter(None, (answer.text, missing)))))
    shows_list = order.kind in DIALS and (answer.is_refused or not order.argument)
    parts = told_parts(services, order, said, answer.choices if shows_list else (), file)
    is_late = bool(keeps) and session is not None and is_too_late(order, session)
    if not is_late and services.store.orders.answer(
        order,
        answer.digest,
        parts,
        now=services.clock.now(),
        choices=answer.choices,
        listed=answer.listed if order.kind == SESSIONS else (),
        said=answer.text if order.kind in SILENT else "",
        is_refused=answer.is_refused,
        keeps=keeps,
        session=session,
    ):
        send_told(services, order)
    elif why := hindrance(services, order):
        void_order(services, order, why)
        raise OrderEnded(order.id)
    else:
        raise Conflict(f"order {order.id} changed since it was read")


def _file_of(services: Services, order: Order, answer: OrderAnswer) -> tuple[StoredFile | None, str]:
    """The file to post beside an answer, else what the person is told of it. Only one of the order's own session."""
    if order.kind != DIFF or not answer.file:
        return None, ""
    item = services.store.files.get(order.session_id, answer.file)
    if item is None or not is_there(services, item):
        return None, "The whole as a file is not sent: the service does not have its bytes."
    try:
        why = too_large(platform_of(services, order.place), item.file)
    except Rejected:
        return None, ""
    return (None, f"The whole as a file ({size_text(item.file.size)}) is not sent: {why}.") if why else (item.file, "")


def _told(order: Order, answer: OrderAnswer) -> tuple[str, str]:
    """What the person is told, and what of it the session keeps."""
    if order.kind == DIFF and answer.diff:
        return f"{answer.text}\n\n{code_block(answer.diff)}".strip(), ""
    if order.kind not in DIALS:
        return answer.text or "Done.", ""
    listed = offered(order.kind, answer.current, answer.choices)
    if answer.is_refused:
        return "\n\n".join(filter(None, (answer.text, listed if answer.choices else ""))) or "It was refused.", ""
    if not order.argument:
        return listed, ""
    if not answer.current:
        raise InvalidRequest("The answer to an order that sets an option says in `current` what it is now.")
    return f"{is_now(order.kind, answer.current)}, from the next message on.", answer.current


def own_order(services: Services, name: OrderName) -> Order:
    """The order that a runner names. Raises UnknownRunner, RunnerRevoked, and UnknownOrder for another runner's."""
    own_runner(services, name.user_id, name.runner_id)
    order = services.store.orders.get(name.user_id, name.runner_id, name.order_id)
    if order is None or order.state is OrderState.UNKNOWN:
        raise UnknownOrder(name.order_id)
    return order
