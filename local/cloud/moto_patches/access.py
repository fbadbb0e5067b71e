"""IAM in force: every call of a role is checked against the policies that the template gave it, and noted.

moto can check, but knows no resources for DynamoDB and SSM, asks for TransactWriteItems (an action that IAM does
not know) instead of one permission per item, and lets one switch stand for all accounts.
"""

# ruff: noqa: SLF001 - the shim's business is the inside of another program

import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from botocore.credentials import Credentials
from moto.core.authorization import ActionAuthenticatorMixin
from moto.core.exceptions import JsonRESTError
from moto.iam.models import iam_backends

from local.cloud.moto_patches.demands import demands_of
from local.cloud.moto_patches.policies import as_list, covers, is_allowed, statements_of
from local.cloud.moto_patches.signatures import is_signed_by


class Grant(NamedTuple):
    """One permission that a call needed."""

    role: str
    action: str
    resource: str


@dataclass(frozen=True)
class Identity:
    """Whom an access key stands for; the account's own key has no role and may do everything."""

    role: str | None
    credentials: Credentials


@dataclass(frozen=True)
class Decision:
    """Whether these policies, as moto keeps them, allow a grant."""

    documents: tuple[Any, ...]
    allowed: bool


@dataclass
class Guard:
    """Who may call in one account, and what was called under roles so far."""

    account_id: str
    identities: dict[str, Identity] = field(default_factory=dict)
    used: set[Grant] = field(default_factory=set)
    denied: set[Grant] = field(default_factory=set)
    decided: dict[Grant, Decision] = field(default_factory=dict)

    def check(self, response: Any) -> None:
        """Note what a role's call needs; in force, raise the error that AWS would answer with."""
        identity = self.identities.get(response.access_key)
        if identity is None:
            raise JsonRESTError("UnrecognizedClientException", "The security token included in the request is invalid.")
        if identity.role is None:
            return
        _check_signature(identity, response)
        for grant in (Grant(identity.role, action, resource) for action, resource in demands_of(response)):
            if not self._allows(grant):
                self.denied.add(grant)
                raise JsonRESTError("AccessDeniedException", _refusal(*grant))
            self.used.add(grant)

    def unused(self, role_arn: str) -> frozenset[Grant]:
        """What the role's policies allow and no call has needed."""
        needed = [grant for grant in self.used if grant.role == role_arn]
        return frozenset(
            Grant(role_arn, action, resource)
            for statement in statements_of(map(_parsed, self._documents(role_arn)))
            for action in as_list(statement["Action"])
            for resource in as_list(statement["Resource"])
            if not any(covers({"Action": action, "Resource": resource}, g.action, g.resource) for g in needed)
        )

    def _allows(self, grant: Grant) -> bool:
        """Decided once for as long as the role's policies stay as they are: a source asks for the same several times a second."""
        documents = self._documents(grant.role)
        known = self.decided.get(grant)
        if known is None or known.documents != documents:
            allowed = is_allowed(map(_parsed, documents), grant.action, grant.resource)
            known = self.decided[grant] = Decision(documents, allowed)
        return known.allowed

    def _documents(self, role_arn: str) -> tuple[Any, ...]:
        return tuple(iam_backends[self.account_id]["aws"].get_role_by_arn(role_arn).policies.values())


GUARDS: dict[str, Guard] = {}  # by account


def _parsed(document: Any) -> Any:
    return json.loads(document) if isinstance(document, str) else document


def _refusal(role: str, action: str, resource: str) -> str:
    return (
        f"User: {role} is not authorized to perform: {action} on resource: {resource} "
        f"because no identity-based policy allows the {action} action"
    )


def _check_signature(identity: Identity, response: Any) -> None:
    if response.headers.get("X-Amz-Security-Token") != identity.credentials.token:
        raise JsonRESTError("UnrecognizedClientException", "The security token included in the request is invalid.")
    if not is_signed_by(identity.credentials, response):
        raise JsonRESTError(
            "InvalidSignatureException",
            "The request signature we calculated does not match the signature you provided.",
        )


def _authenticate_and_authorize_action(self: Any, *_: Any, **__: Any) -> None:
    guard = GUARDS.get(self.current_account)
    if guard is not None:
        guard.check(self)


def apply() -> None:
    ActionAuthenticatorMixin._authenticate_and_authorize_action = _authenticate_and_authorize_action
