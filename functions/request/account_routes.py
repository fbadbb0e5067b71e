"""HTTP calls that change tokens and users."""

from datetime import UTC

from fastapi import APIRouter

from functions.http.dependencies import Admin, AppServices, PathId, WritingCaller
from functions.http.problems import Json, refusals
from functions.request.bodies import TokenBody, UserBody
from functions.views import IssuedToken, TokenView
from shared.domain.tokens import USUAL, Scope
from shared.errors import InvalidRequest
from shared.use_cases.people.remove_user import remove_user
from shared.use_cases.people.tokens import add_user, create_token, revoke_token

router = APIRouter(default_response_class=Json)
WRITE = ("unauthenticated", "missing_scope", "invalid_request", "conflict", "internal")
BODY = (*WRITE, "malformed_json", "body_too_large")


@router.post("/tokens", status_code=201, responses=refusals(*BODY))
def post_token(body: TokenBody, services: AppServices, caller: WritingCaller) -> IssuedToken:
    """Create a further token of yours. It allows no more and lasts no longer than the one of this request."""
    scopes = frozenset(map(Scope, body.scopes)) if body.scopes else USUAL & caller.token.scopes
    expires_at = None
    if body.expires_at is not None:
        if body.expires_at.tzinfo is None:
            raise InvalidRequest("`expires_at` needs a time zone, such as 2027-01-31T00:00:00Z. No token was created.")
        expires_at = int(body.expires_at.astimezone(UTC).timestamp() * 1000)
    issued = create_token(services, caller, scopes=scopes, label=body.label, expires_at=expires_at)
    return IssuedToken(token=issued.plaintext, **TokenView.of(issued.token).model_dump())


@router.delete("/tokens/{token_id}", status_code=204, responses=refusals(*WRITE, "unknown_token"))
def delete_token(token_id: PathId, services: AppServices, caller: WritingCaller) -> None:
    """Revoke one of your tokens, effective at once."""
    revoke_token(services.store.accounts, caller.user_id, token_id)


@router.post("/users", status_code=201, responses=refusals(*BODY, "user_exists"))
def post_user(body: UserBody, services: AppServices, caller: Admin) -> IssuedToken:
    """Add a user, with a first token, which lasts no longer than the one of this request. Needs the scope `admin`."""
    issued = add_user(services, caller, body.id, label=body.label)
    return IssuedToken(token=issued.plaintext, **TokenView.of(issued.token).model_dump())


@router.delete("/users/{user_id}", status_code=204, responses=refusals(*WRITE, "unknown_user"))
def delete_user(user_id: PathId, services: AppServices, _: Admin) -> None:
    """Remove a user with everything that is theirs. Repeat it after a 5xx: it then goes on. Needs the scope `admin`."""
    remove_user(services.store, user_id)
