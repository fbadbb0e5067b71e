"""Values that a route gets with `Depends`."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import Depends, Header, Path, Query, Request
from fastapi.openapi.models import HTTPBearer
from fastapi.security.base import SecurityBase

from functions.http.fields import ID, MAX_KEY, Id
from shared.domain.tokens import Scope
from shared.ports.changes import LONGEST_HOLD
from shared.services import Services
from shared.use_cases.people.authenticate import Caller


async def _services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


async def _base_url(request: Request) -> str:
    """Where clients reach this service: as configured, else as this request came in."""
    services: Services = request.app.state.services
    return (services.settings.public_url or str(request.base_url)).rstrip("/")


async def _raw_body(request: Request) -> bytes:
    return await request.body()


class _CallerWith(SecurityBase):
    """Gives the caller. It is the scheme itself, for openapi.json: each dependency of a dependency costs time."""

    model = HTTPBearer(description="A token that the operator of the service gave you.")
    scheme_name = "HTTPBearer"

    def __init__(self, *scopes: Scope) -> None:
        """One of these is enough."""
        self._scopes = scopes

    async def __call__(self, request: Request) -> Caller:
        caller: Caller = request.state.caller  # set by the guard
        caller.require(*self._scopes)
        return caller


class _UserWith(_CallerWith):
    """Gives the user's id."""

    async def __call__(self, request: Request) -> str:  # type: ignore[override]  # nothing calls it by its base
        return (await super().__call__(request)).user_id


AppServices = Annotated[Services, Depends(_services)]
Reader = Annotated[str, Depends(_UserWith(Scope.READ))]
"""The id of a user who may see what is theirs."""
Writer = Annotated[str, Depends(_UserWith(Scope.HANDOFF))]
"""The id of a user who may change what is theirs."""
FileWriter = Annotated[str, Depends(_UserWith(Scope.HANDOFF, Scope.RUN))]
"""The id of a user who may store files of what is theirs; also from a machine that runs turns."""
RunningUser = Annotated[str, Depends(_UserWith(Scope.RUN))]
"""The id of a user whose machine may run turns."""
ReadingCaller = Annotated[Caller, Depends(_CallerWith(Scope.READ))]
WritingCaller = Annotated[Caller, Depends(_CallerWith(Scope.HANDOFF))]
RunningCaller = Annotated[Caller, Depends(_CallerWith(Scope.RUN))]
LinkingCaller = Annotated[Caller, Depends(_CallerWith(Scope.LINK))]
"""A caller who may link and unlink accounts on platforms."""
Admin = Annotated[Caller, Depends(_CallerWith(Scope.ADMIN))]
"""A caller who may see, add and remove users."""
BaseUrl = Annotated[str, Depends(_base_url)]
RawBody = Annotated[bytes, Depends(_raw_body)]
"""The body as it came, for what is signed."""
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=MAX_KEY,
        description="The same key with the same body gives the same result, however often it is sent.",
    ),
]
PathId = Annotated[str, Path(pattern=ID)]
MOST_WARM = 64
WarmSessions = Annotated[Sequence[Id], Query(max_length=MOST_WARM)]
Wait = Annotated[
    float,
    Query(
        ge=0,
        le=LONGEST_HOLD,
        description="Hold the request for up to so many seconds until there is a change. A service on one machine does, "
        "others answer at once.",
    ),
]
Seen = Annotated[
    str | None,
    Query(
        max_length=64,
        description="The `version` that you have: with `wait`, any other one is answered at once. Without it the request "
        "is held until the next change.",
    ),
]
