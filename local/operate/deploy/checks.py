"""`handoff doctor --stack`: what a deploy can leave wrong, each with the one command that mends it."""

from collections.abc import Iterator, Mapping
from typing import Any

from local.operate.deploy.apply import DONE
from local.operate.deploy.aws import Account
from local.operate.deploy.files_bucket import files_check
from local.operate.deploy.first_user import accounts_of
from local.operate.deploy.owner import Owner, owner_of
from local.operate.deploy.secret_store import AGENT_KEY
from local.operate.deploy.settings import Settings
from local.operate.deploy.stacks import NEVER_CREATED, REVIEW, StackState, describe
from local.operate.deploy.template import RELEASE
from shared.aws.secrets import SsmSecrets
from shared.voice.openai import KEY as VOICE_KEY

_SERVES = DONE | {"IMPORT_COMPLETE", "IMPORT_ROLLBACK_COMPLETE"}
_WITH_KEY = ("openai",)


def checks(account: Account, settings: Settings, *, version: str) -> Iterator[dict[str, Any]]:
    """Reads only. Raises botocore's errors."""
    yield _check("aws", ok=True, detail=account.line())
    stack, deploy = describe(account.cloudformation, settings.stack), f"handoff deploy {settings.options}"
    owner = owner_of(account.cloudformation, stack) if stack else None
    yield _state(stack, owner, settings, deploy)
    if stack is None or owner is Owner.OTHER or "SessionsTableName" not in stack.outputs:
        return
    yield _release(stack.outputs, version, deploy)
    if bucket := stack.outputs.get("FilesBucketName"):  # a stack of an earlier version has none
        yield {"name": "files", **files_check(account, bucket, stack.parameters)}
    users = accounts_of(account.dynamodb, stack.outputs).users()
    if users:
        yield _check("users", ok=True, detail=f"{len(users)}")
    else:
        yield _check("users", ok=False, detail="no user is known, so no token is valid", fix=f"{deploy} --new-token")
    if (agent := stack.parameters.get("Agent")) in _WITH_KEY:
        key = SsmSecrets(account.ssm, stack.parameters.get("SecretsPrefix", "/handoff")).get(AGENT_KEY)
        detail = f"the agent {agent} has {'a key' if key else 'no key, so no turn can be answered'}"
        yield _check("agent key", ok=bool(key), detail=detail, fix=f"{deploy} --secret {AGENT_KEY}")
    if model := stack.parameters.get("VoiceModel"):
        key = SsmSecrets(account.ssm, stack.parameters.get("SecretsPrefix", "/handoff")).get(VOICE_KEY)
        is_enough = bool(key or stack.parameters.get("VoiceUrl"))  # a server of one's own may need none
        detail = f"voice messages are transcribed by {model}, {'with a key' if key else 'without a key'}"
        yield _check("voice key", ok=is_enough, detail=detail, fix=f"{deploy} --secret {VOICE_KEY}")


def _state(stack: StackState | None, owner: Owner | None, settings: Settings, deploy: str) -> dict[str, Any]:
    name = settings.stack
    if stack is None:
        return _check("stack", ok=False, detail=f"there is no stack {name} in this account and region", fix=deploy)
    if owner is Owner.OTHER:
        return _check(
            "stack", ok=False, detail=f"{name} is not a stack of Handoff", fix="handoff deploy --stack OTHER-NAME"
        )
    if owner is Owner.OLDER and stack.status in _SERVES:
        detail = (
            f"{name}: {stack.status}: an earlier version deployed it, without the mark that `handoff destroy` wants"
        )
        return _check("stack", ok=None, detail=detail, fix=deploy)
    if stack.status in _SERVES:
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
        return _check("stack", ok=False, detail=detail, fix=f"handoff destroy {settings.options}")
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
