"""What a request brings with it, whichever framework has routed it."""

from starlette.requests import Request

from shared.domain.tokens import Scope
from shared.services import Services
from shared.use_cases.people.authenticate import Caller


def base_url_of(services: Services, request: Request) -> str:
    """Where clients reach this service: as configured, else as this request came in."""
    return (services.settings.public_url or str(request.base_url)).rstrip("/")


def caller_of(request: Request, scope: Scope) -> Caller:
    """Who asks, if the token allows this."""
    caller: Caller = request.state.caller  # set by the guard
    caller.require(scope)
    return caller
