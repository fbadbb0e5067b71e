"""Enforces IAM policies: every call of a role is checked against its policies and recorded.

moto's own check has no resources for DynamoDB and SSM, requires TransactWriteItems (an action that IAM does not have)
instead of one permission per item, and is switched on for all accounts at once.
"""

# ruff: noqa: SLF001 - patches the internals of moto

import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from moto.core.authorization import ActionAuthenticatorMixin
from moto.core.exceptions import JsonRESTError
from moto.iam.models import iam_backends

from local.cloud.moto_patches.permissions import leading_keys, permissions_of
from local.cloud.moto_patches.policies import as_list, covers, is_allowed, statements_of


class Grant(NamedTuple):
    """One permission of one role."""

    role: str
    action: str
    resource: str


@dataclass
class AccessControl:
    """The roles of one account and what their calls needed. An access key without a role has all rights."""

    account_id: str
    roles: dict[str, str] = field(default_factory=dict)  # access key -> role ARN
    used: set[Grant] = field(default_factory=set)
    denied: set[Grant] = field(default_factory=set)

    def check(self, response: Any) -> None:
        """Record what the call needs; raise AWS's error if the caller's role does not allow it."""
        role = self.roles.get(response.access_key)
        if role is None:
            return
        keys = leading_keys(response) if self._has_conditions(role) else frozenset()
        for grant in (Grant(role, action, resource) for action, resource in permissions_of(response)):
            if not self._allows(grant, keys):
                self.denied.add(grant)
                raise JsonRESTError("AccessDeniedException", _denial(*grant))
            self.used.add(grant)

    def unused(self, role_arn: str) -> frozenset[Grant]:
        """Return what the role's policies allow and no call has needed."""
        needed = [grant for grant in self.used if grant.role == role_arn]
        return frozenset(
            Grant(role_arn, action, resource)
            for statement in statements_of(map(_parsed, self._documents(role_arn)))
            for action in as_list(statement["Action"])
            for resource in as_list(statement["Resource"])
            if not any(covers({"Action": action, "Resource": resource}, g.action, g.resource) for g in needed)
        )

    def _has_conditions(self, role_arn: str) -> bool:
        return any("Condition" in str(document) for document in self._documents(role_arn))

    def _allows(self, grant: Grant, keys: frozenset[str]) -> bool:
        return is_allowed(map(_parsed, self._documents(grant.role)), grant.action, grant.resource, keys)

    def _documents(self, role_arn: str) -> tuple[Any, ...]:
        return tuple(iam_backends[self.account_id]["aws"].get_role_by_arn(role_arn).policies.values())


ACCESS: dict[str, AccessControl] = {}  # by account


def _parsed(document: Any) -> Any:
    return json.loads(document) if isinstance(document, str) else document


def _denial(role: str, action: str, resource: str) -> str:
    return (
        f"User: {role} is not authorized to perform: {action} on resource: {resource} "
        f"because no identity-based policy allows the {action} action"
    )


def _authenticate_and_authorize_action(self: Any, *_: Any, **__: Any) -> None:
    access = ACCESS.get(self.current_account)
    if access is not None:
        access.check(self)


def _authenticate_and_authorize_s3_action(
    self: Any, bucket_name: str | None = None, key_name: str | None = None
) -> None:
    self.s3_object = "/".join(filter(None, (bucket_name, key_name)))
    _authenticate_and_authorize_action(self)


def apply() -> None:
    ActionAuthenticatorMixin._authenticate_and_authorize_s3_action = _authenticate_and_authorize_s3_action
    ActionAuthenticatorMixin._authenticate_and_authorize_action = _authenticate_and_authorize_action
