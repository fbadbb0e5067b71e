"""`handoff doctor --stack`: what a deploy can leave wrong, each with the one command that mends it."""

from collections.abc import Iterator, Mapping
from typing import Any

from local.operate.deploy.apply import DONE
from local.operate.deploy.aws import Account
from local.operate.deploy.first_user import accounts_of
from local.operate.deploy.secret_store import AGENT_KEY
from local.operate.deploy.stacks import NEVER_CREATED, REVIEW, StackState, describe
from local.operate.deploy.template import RELEASE
from shared.aws.secrets import SsmSecrets

_WITH_KEY = ("openai",)


def checks(account: Account, name: str, *, version: str) -> Iterator[dict[str, Any]]:
    """Reads only. Raises botocore's errors."""
    stack, deploy = describe(account.cloudformation, name), f"handoff deploy --stack {name}"
    yield _state(stack, name, deploy)
    if stack is None or "SessionsTableName" not in stack.outputs:
        return
    yield _release(stack.outputs, version, deploy)
    users = accounts_of(account.dynamodb, stack.outputs).users()
    if users:
        yield _check("users", ok=True, detail=f"{len(users)}")
    else:
        yield _check("users", ok=False, detail="no user is known, so no token is valid", fix=deploy)
    if (agent := stack.parameters.get("Agent")) in _WITH_KEY:
        key = SsmSecrets(account.ssm, stack.parameters.get("SecretsPrefix", "/handoff")).get(AGENT_KEY)
        detail = f"the agent {agent} has {'a key' if key else 'no key, so no turn can be answered'}"
        yield _check("agent key", ok=bool(key), detail=detail, fix=f"{deploy} --secret {AGENT_KEY}")


def _state(stack: StackState | None, name: str, deploy: str) -> dict[str, Any]:
    if stack is None:
        return _check("stack", ok=False, detail=f"there is no stack {name} in this account and region", fix=deploy)
    if not stack.is_ours:
        return _check(
            "stack", ok=False, detail=f"{name} is not a stack of Handoff", fix="handoff deploy --stack OTHER-NAME"
        )
    if stack.status in DONE:
        return _check("stack", ok=True, detail=f"{name}: {stack.status}")
    details = {
        REVIEW: "a plan was made and never applied",
        "UPDATE_ROLLBACK_COMPLETE": "the last upgrade failed and was rolled back; the version before serves",
        "UPDATE_ROLLBACK_FAILED": "an upgrade failed, and so did its roll-back",
    }
    detail = f"{name}: {stack.status}: {details.get(stack.status, stack.reason or 'see the events of the stack')}"
    if stack.status in NEVER_CREATED:
        return _check("stack", ok=False, detail=f"{name}: {stack.status}: an earlier deploy failed", fix=deploy)
    if stack.status.startswith("DELETE"):
        return _check("stack", ok=False, detail=detail, fix=f"handoff destroy --stack {name}")
    if stack.is_busy:
        return _check("stack", ok=None, detail=f"{name}: {stack.status}: AWS is at work", fix=deploy)
    return _check("stack", ok=None if stack.status == "UPDATE_ROLLBACK_COMPLETE" else False, detail=detail, fix=deploy)


def _release(outputs: Mapping[str, str], version: str, deploy: str) -> dict[str, Any]:
    running = outputs.get(RELEASE, "unknown").partition(" ")[0]
    if running == version:
        return _check("version", ok=True, detail=f"{running}, as this CLI")
    return _check("version", ok=None, detail=f"the stack runs {running}, this CLI is {version}", fix=deploy)


def _check(name: str, *, ok: bool | None, detail: str, fix: str | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "ok": ok, "detail": detail}
    return {**found, "fix": fix} if fix and not ok else found
