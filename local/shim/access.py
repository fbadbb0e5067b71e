"""IAM in force: every call of a role is checked against the policies that the template gave it, and noted.

moto can check, but knows no resources for DynamoDB and SSM, asks for TransactWriteItems (an action that IAM does
not know) instead of one permission per item, and lets one switch stand for all accounts.
"""

# ruff: noqa: SLF001 - the shim's business is the inside of another program

import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from moto.core.authorization import ActionAuthenticatorMixin
from moto.core.exceptions import JsonRESTError
from moto.iam.models import iam_backends

from local.shim.demands import demands_of
from local.shim.policies import as_list, covers, is_allowed, statements_of


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


@dataclass
class Guard:
    """Who may call in one account, and what was called under roles so far."""

    account_id: str
    enforcing: bool = False
    identities: dict[str, Identity] = field(default_factory=dict)
    used: set[Grant] = field(default_factory=set)
    denied: set[Grant] = field(default_factory=set)

    def check(self, response: Any) -> None:
        """Note what a role's call needs; in force, raise the error that AWS would answer with."""
        identity = self.identities.get(response.access_key)
        if identity is None and self.enforcing:
            raise JsonRESTError("UnrecognizedClientException", "The security token included in the request is invalid.")
        if identity is None or identity.role is None:
            return
        if self.enforcing:
            _check_signature(identity, response)
        for grant in (Grant(identity.role, action, resource) for action, resource in demands_of(response)):
            if self.enforcing and not is_allowed(self._policies(grant.role), grant.action, grant.resource):
                self.denied.add(grant)
                raise JsonRESTError("AccessDeniedException", _refusal(*grant))
            self.used.add(grant)

    def unused(self, role_arn: str) -> frozenset[Grant]:
        """What the role's policies allow and no call has needed."""
        needed = [grant for grant in self.used if grant.role == role_arn]
        return frozenset(
            Grant(role_arn, action, resource)
            for statement in statements_of(self._policies(role_arn))
            for action in as_list(statement["Action"])
            for resource in as_list(statement["Resource"])
            if not any(covers({"Action": action, "Resource": resource}, g.action, g.resource) for g in needed)
        )

    def _policies(self, role_arn: str) -> list[Any]:
        role = iam_backends[self.account_id]["aws"].get_role_by_arn(role_arn)
        return [json.loads(policy) if isinstance(policy, str) else policy for policy in role.policies.values()]


GUARDS: dict[str, Guard] = {}  # by account


def _refusal(role: str, action: str, resource: str) -> str:
    return (
        f"User: {role} is not authorized to perform: {action} on resource: {resource} "
        f"because no identity-based policy allows the {action} action"
    )


def _check_signature(identity: Identity, response: Any) -> None:
    given = response.headers["Authorization"]
    if response.headers.get("X-Amz-Security-Token") != identity.credentials.token:
        raise JsonRESTError("UnrecognizedClientException", "The security token included in the request is invalid.")
    parts = dict(part.strip().split("=", 1) for part in given.partition(" ")[2].split(","))
    _, _, region, service, _ = parts["Credential"].split("/")
    if parts["Signature"] != _signature(identity.credentials, service, region, parts["SignedHeaders"], response):
        raise JsonRESTError(
            "InvalidSignatureException",
            "The request signature we calculated does not match the signature you provided.",
        )


def _signature(credentials: Credentials, service: str, region: str, signed: str, response: Any) -> str:
    names = signed.split(";")
    query = f"?{response.parsed_url.query}" if response.parsed_url.query else ""
    request = AWSRequest(
        method=response.method,
        url=response.raw_path + query,
        data=response.raw_body or response.data,
        headers={name: value for name, value in response.headers.items() if name.lower() in names},
    )
    request.context["timestamp"] = response.headers["X-Amz-Date"]
    auth = SigV4Auth(credentials, service, region)
    signature: str = auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)
    return signature


def _authenticate_and_authorize_action(self: Any, *_: Any, **__: Any) -> None:
    guard = GUARDS.get(self.current_account)
    if guard is not None:
        guard.check(self)


def apply() -> None:
    ActionAuthenticatorMixin._authenticate_and_authorize_action = _authenticate_and_authorize_action
