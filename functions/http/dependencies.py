"""What a route asks for with `Depends`."""

from typing import Annotated

from fastapi import Depends, Header, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from shared.services import Services

_bearer = HTTPBearer(auto_error=False, description="A token that the operator of the service gave you.")


async def _services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


async def _user(request: Request, _: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]) -> str:
    user_id: str = request.state.user_id  # set by the guard; the bearer scheme is here for openapi.json
    return user_id


async def _base_url(request: Request, services: Annotated[Services, Depends(_services)]) -> str:
    return (services.settings.public_url or str(request.base_url)).rstrip("/")


AppServices = Annotated[Services, Depends(_services)]
CurrentUser = Annotated[str, Depends(_user)]
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
