"""What a route asks for with `Depends`."""

from typing import Annotated

from fastapi import Depends, Header, Request
from fastapi.openapi.models import HTTPBearer
from fastapi.security.base import SecurityBase

from shared.domain.tokens import Scope
from shared.services import Services
from shared.use_cases.people.authenticate import Caller


def services_of(request: Request) -> Services:
    """The services of the app."""
    services: Services = request.app.state.services
    return services


def base_url_of(request: Request) -> str:
    """Where clients reach this service: as configured, else as this request came in."""
    return (services_of(request).settings.public_url or str(request.base_url)).rstrip("/")


def caller_of(request: Request, scope: Scope) -> Caller:
    """Who asks, if the token allows this."""
    caller: Caller = request.state.caller  # set by the guard
    caller.require(scope)
    return caller


async def _services(request: Request) -> Services:
    return services_of(request)


async def _base_url(request: Request) -> str:
    return base_url_of(request)


class _CallerWith(SecurityBase):
    """Gives the caller. It is the scheme itself, for openapi.json: each dependency of a dependency costs time."""

    model = HTTPBearer(description="A token that the operator of the service gave you.")
    scheme_name = "HTTPBearer"

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    async def __call__(self, request: Request) -> Caller:
        return caller_of(request, self._scope)


class _UserWith(_CallerWith):
    """Gives the user's id."""

    async def __call__(self, request: Request) -> str:  # type: ignore[override]  # nothing calls it by its base
        return caller_of(request, self._scope).user_id


AppServices = Annotated[Services, Depends(_services)]
Reader = Annotated[str, Depends(_UserWith(Scope.READ))]
"""The id of a user who may see what is theirs."""
Writer = Annotated[str, Depends(_UserWith(Scope.HANDOFF))]
"""The id of a user who may change what is theirs."""
RunningUser = Annotated[str, Depends(_UserWith(Scope.RUN))]
"""The id of a user whose machine may run turns."""
ReadingCaller = Annotated[Caller, Depends(_CallerWith(Scope.READ))]
WritingCaller = Annotated[Caller, Depends(_CallerWith(Scope.HANDOFF))]
Admin = Annotated[Caller, Depends(_CallerWith(Scope.ADMIN))]
"""A caller who may see, add and remove users."""
BaseUrl = Annotated[str, Depends(_base_url)]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        description="The same key with the same body gives the same result, however often it is sent.",
    ),
]
