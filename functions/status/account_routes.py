"""HTTP calls that list tokens and users."""

from fastapi import APIRouter

from functions.http.dependencies import Admin, AppServices, ReadingCaller
from functions.http.problems import Json, refusals
from functions.status.views import LinksList, TokensList, UsersList, UserView
from functions.views import LinkView, TokenView
from shared.use_cases.people.links import own_links

router = APIRouter(default_response_class=Json)
READ = ("unauthenticated", "missing_scope", "internal")


@router.get("/tokens", responses=refusals(*READ))
def get_tokens(services: AppServices, caller: ReadingCaller) -> TokensList:
    """Your tokens, without their plaintext. `current` is the id of the one that this request carries."""
    tokens = services.store.accounts.tokens(caller.user_id)
    return TokensList(tokens=[TokenView.of(token) for token in tokens], current=caller.token.id)


@router.get("/links", responses=refusals(*READ))
def get_links(services: AppServices, caller: ReadingCaller) -> LinksList:
    """Your pairing codes, without their plaintext, and whether they were used."""
    now = services.clock.now()
    return LinksList(links=[LinkView.of(link, now=now) for link in own_links(services, caller.user_id)])


@router.get("/users", responses=refusals(*READ))
def get_users(services: AppServices, _: Admin) -> UsersList:
    """All users, with their accounts and homes on platforms. Needs the scope `admin`."""
    accounts = services.store.accounts
    users = [
        UserView(
            id=user_id,
            tokens=len(accounts.tokens(user_id)),
            accounts={name: list(ids) for name, ids in accounts.all_identities(user_id).items()},
            homes={name: home.chat for name, home in accounts.homes(user_id).items()},
        )
        for user_id in accounts.users()
    ]
    return UsersList(users=users)
