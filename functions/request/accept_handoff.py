"""The request for a handoff, as a stored session or as a whole one."""

from functions.request.handoff_body import HandoffBody
from functions.views import HandoffView
from shared.services import Services
from shared.use_cases.handoffs.request_handoff import request_handoff
from shared.use_cases.handoffs.request_inline import request_inline


def accept_handoff(
    services: Services, user_id: str, body: HandoffBody, *, idempotency_key: str | None, base_url: str
) -> HandoffView:
    """The handoff that was accepted, or the one that the same key has made before. Raises RequestRefused, Conflict."""
    inline, asked = body.inline(), body.asked()
    if inline is not None:
        accepted = request_inline(services, user_id, inline, asked, idempotency_key=idempotency_key)
    else:
        accepted = request_handoff(services, user_id, asked, idempotency_key=idempotency_key)
    return HandoffView.of(accepted.handoff, accepted.session, base_url=base_url, now=services.clock.now())


def where_to_ask(view: HandoffView) -> dict[str, str]:
    """The headers that tell a client where and when to ask for the handoff."""
    return {"Location": view.status_url, "Retry-After": view.retry_after}
