"""HTTP calls that link accounts on chat platforms, invite people and give them their first token."""

from fastapi import APIRouter

from functions.http.dependencies import Admin, AppServices, BaseUrl, LinkingCaller
from functions.http.problems import Json, refusals
from functions.request.bodies import InvitationBody, LinkBody, LoginBody
from functions.request.views import LoginView, NewLinkView
from functions.views import LinkView, TokenView
from shared.use_cases.access import refuse_unknown_platform
from shared.use_cases.people.links import NewLink, create_link, invite, unlink
from shared.use_cases.people.login import login
from shared.use_cases.retry import on_conflict

router = APIRouter(default_response_class=Json)
BODY = (
    "unauthenticated",
    "missing_scope",
    "invalid_request",
    "conflict",
    "internal",
    "malformed_json",
    "body_too_large",
    "encoded_body",
)
PLATFORM = ("unknown_platform", "platform_not_supported", "platform_not_configured")


@router.post("/links", status_code=201, responses=refusals(*BODY, *PLATFORM))
def post_link(body: LinkBody, services: AppServices, caller: LinkingCaller) -> NewLinkView:
    """A code for 10 minutes: the account from which the bot gets it in a private chat is yours. Needs the scope `link`.

    That chat becomes your home if you have none on the platform, or with `home`. Your other chats are told of the account.
    Needs a token without an expiry, which is true of `POST /invitations`, too. Revoking that token ends the code.
    """
    return _view(on_conflict(lambda: create_link(services, caller, body.platform, moves_home=body.home)), services)


@router.delete(
    "/links/{platform}",
    status_code=204,
    responses=refusals("unauthenticated", "missing_scope", "unknown_platform", "conflict", "internal"),
)
def delete_link(platform: str, services: AppServices, caller: LinkingCaller) -> None:
    """Unlink your accounts on a platform and remove your home there. What is said there is ignored from now on.

    Needs the scope `link`. Your chats are told.
    """
    refuse_unknown_platform(services.platforms, platform)
    unlink(services, caller, platform)


@router.post("/invitations", status_code=201, responses=refusals(*BODY, *PLATFORM, "user_exists"))
def post_invitation(
    body: InvitationBody, services: AppServices, caller: Admin, _: LinkingCaller, base_url: BaseUrl
) -> NewLinkView:
    """A code with which another person becomes a user, and gets a link for the first token.

    Needs the scopes `admin` and `link`, because it links an account.
    """
    return _view(on_conflict(lambda: invite(services, caller, body.name, body.platform, base_url=base_url)), services)


@router.post(
    "/logins",
    status_code=201,
    responses=refusals(
        *(
            "login_refused",
            "invalid_request",
            "conflict",
            "internal",
            "malformed_json",
            "body_too_large",
            "encoded_body",
        )
    ),
)
def post_login(body: LoginBody, services: AppServices) -> LoginView:
    """The first token of a person who was invited, once. Needs no token. A repeat with the same `key` gives it again."""
    user_id, issued = login(services, body.code, body.key)
    return LoginView(user=user_id, token=issued.plaintext, **TokenView.of(issued.token).model_dump())


def _view(made: NewLink, services: AppServices) -> NewLinkView:
    view = LinkView.of(made.link, now=services.clock.now())
    return NewLinkView(code=made.code, url=made.pairing.url or None, text=made.pairing.text, **view.model_dump())
