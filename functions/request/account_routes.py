"""HTTP calls that change tokens and users."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query

from functions.http.dependencies import Admin, AppServices, PathId, WritingCaller
from functions.http.problems import Json, refusals
from functions.request.bodies import TokenBody, UserBody
from functions.request.views import AccountView, RevokedView
from functions.views import IssuedToken, TokenView
from shared.domain.tokens import USUAL, Scope
from shared.errors import InvalidRequest
from shared.use_cases.people.remove_user import remove_user
from shared.use_cases.people.tokens import add_user, create_token, revoke_own_token

router = APIRouter(default_response_class=Json)
WRITE = ("unauthenticated", "missing_scope", "invalid_request", "conflict", "internal")
BODY = (*WRITE, "malformed_json", "body_too_large", "encoded_body")
Unlink = Annotated[bool, Query(description="Also unlink the accounts that it has linked. Needs the scope `link`, too.")]


@router.post("/tokens", status_code=201, responses=refusals(*BODY))
def post_token(body: TokenBody, services: AppServices, caller: WritingCaller) -> IssuedToken:
    """Create a further token of yours. It allows no more and lasts no longer than the one of this request."""
    scopes = frozenset(map(Scope, body.scopes)) if body.scopes else USUAL & caller.token.scopes
    expires_at = _milliseconds(body.expires_at) if body.expires_at is not None else None
    issued = create_token(services, caller, scopes=scopes, label=body.label, expires_at=expires_at)
    return IssuedToken(token=issued.plaintext, **TokenView.of(issued.token).model_dump())


def _milliseconds(at: datetime) -> int:
    """Since the epoch. Raises InvalidRequest for a time that has no year from 1 to 9999 in UTC."""
    if at.tzinfo is None:
        raise InvalidRequest("`expires_at` needs a time zone, such as 2027-01-31T00:00:00Z. No token was created.")
    try:
        in_utc = at.astimezone(UTC)
    except OverflowError:
        raise InvalidRequest("`expires_at` is outside of the years 1 to 9999 in UTC. No token was created.") from None
    return (in_utc - datetime.fromtimestamp(0, UTC)) // timedelta(milliseconds=1)  # a float would round 9999 up


@router.delete("/tokens/{token_id}", responses=refusals(*WRITE, "unknown_token"))
def delete_token(
    token_id: PathId, services: AppServices, caller: WritingCaller, *, unlink: Unlink = False
) -> RevokedView:
    """Revoke one of your tokens, effective at once, by its id: never put a token into a URL.

    The answer names the accounts that it has linked; a repeat does as long as they are linked.
    """
    linked = revoke_own_token(services, caller, token_id, unlink=unlink)
    accounts = [AccountView(platform=each.platform, account=each.account) for each in linked]
    return RevokedView(id=token_id, accounts=accounts, unlinked=unlink)


@router.post("/users", status_code=201, responses=refusals(*BODY, "user_exists"))
def post_user(body: UserBody, services: AppServices, caller: Admin) -> IssuedToken:
    """Add a user, with a first token, which lasts no longer than the one of this request. Needs the scope `admin`."""
    issued = add_user(services, caller, body.id, label=body.label)
    return IssuedToken(token=issued.plaintext, **TokenView.of(issued.token).model_dump())


@router.delete("/users/{user_id}", status_code=204, responses=refusals(*WRITE, "unknown_user"))
def delete_user(user_id: PathId, services: AppServices, _: Admin) -> None:
    """Remove a user with everything that is theirs. Repeat it after a 5xx: it then goes on. Needs the scope `admin`."""
    remove_user(services.store, services.files, user_id)
