"""What a route asks for with `Depends`."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, Header, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from shared.domain.tokens import Scope
from shared.services import Services
from shared.use_cases.people.authenticate import Caller

_bearer = HTTPBearer(auto_error=False, description="A token that the operator of the service gave you.")


async def _services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


def _with(scope: Scope) -> Callable[..., Awaitable[Caller]]:
    """A dependency that gives the caller, if the token allows this. Without one, a route does not learn who asks."""

    async def caller(request: Request, _: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]) -> Caller:
        found: Caller = request.state.caller  # set by the guard; the bearer scheme is here for openapi.json
        found.require(scope)
        return found

    return caller


def _user_with(scope: Scope) -> Callable[..., Awaitable[str]]:
    async def user(caller: Annotated[Caller, Depends(_with(scope))]) -> str:
        return caller.user_id

    return user


async def _base_url(request: Request, services: Annotated[Services, Depends(_services)]) -> str:
    return (services.settings.public_url or str(request.base_url)).rstrip("/")


AppServices = Annotated[Services, Depends(_services)]
Reader = Annotated[str, Depends(_user_with(Scope.READ))]
"""The id of a user who may see what is theirs."""
Writer = Annotated[str, Depends(_user_with(Scope.HANDOFF))]
"""The id of a user who may change what is theirs."""
RunningUser = Annotated[str, Depends(_user_with(Scope.RUN))]
"""The id of a user whose machine may run turns."""
ReadingCaller = Annotated[Caller, Depends(_with(Scope.READ))]
WritingCaller = Annotated[Caller, Depends(_with(Scope.HANDOFF))]
Admin = Annotated[Caller, Depends(_with(Scope.ADMIN))]
"""A caller who may see, add and remove users."""
BaseUrl = Annotated[str, Depends(_base_url)]
"""Where clients reach this service: as configured, else as this request came in."""
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        description="The same key with the same body gives the same result, however often it is sent.",
    ),
]
