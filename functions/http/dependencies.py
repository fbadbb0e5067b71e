"""What a route asks for with `Depends`."""

from typing import Annotated

from fastapi import Depends, Header, Request
from fastapi.openapi.models import HTTPBearer
from fastapi.security.base import SecurityBase

from shared.domain.tokens import Scope
from shared.services import Services
from shared.use_cases.people.authenticate import Caller


async def _services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


class _CallerWith(SecurityBase):
    """Gives the caller, if the token allows this. Without it, a route does not learn who asks.

    The scheme itself, for openapi.json: FastAPI takes longer for a dependency of a dependency than all of them do.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self.model = HTTPBearer(description="A token that the operator of the service gave you.")
        self.scheme_name = "HTTPBearer"

    async def __call__(self, request: Request) -> Caller:
        found: Caller = request.state.caller  # set by the guard
        found.require(self._scope)
        return found


class _UserWith(_CallerWith):
    """The same, and gives the user's id."""

    async def __call__(self, request: Request) -> str:  # type: ignore[override]  # nothing calls it by its base
        return (await super().__call__(request)).user_id


async def _base_url(request: Request) -> str:
    services = await _services(request)
    return (services.settings.public_url or str(request.base_url)).rstrip("/")


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
