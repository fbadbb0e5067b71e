"""The owner of a stack, by a mark that only the template of Handoff carries."""

import json
from collections.abc import Mapping
from enum import Enum
from typing import Any

from botocore.exceptions import ClientError

from local.operate.deploy import template
from local.operate.deploy.aws import Account
from local.operate.deploy.problems import Stopped, code_of
from local.operate.deploy.settings import Settings
from local.operate.deploy.stacks import OURS, REVIEW, TAG, StackState, describe


class Owner(Enum):
    """Only what is HANDOFF's is ever removed.

    OLDER: an earlier version of Handoff deployed it, without the mark; the next deploy adds it.
    NOBODY: it is empty, and there is no plan for it.
    """

    HANDOFF = "Handoff"
    OLDER = "an earlier version of Handoff"
    NOBODY = "nobody"
    OTHER = "something else"


def owner_of(client: Any, stack: StackState) -> Owner:
    """Names, outputs and tags prove nothing: others may use the same. Raises botocore's errors."""
    if stack.status == REVIEW:
        return _planner(client, stack.id)
    document = _template(client, StackName=stack.id)
    if template.mark_of(document) == template.mark_of(template.load()):
        return Owner.HANDOFF
    is_older = stack.tags.get(TAG) == OURS and document.get("Description") == template.load()["Description"]
    return Owner.OLDER if is_older else Owner.OTHER


def deployed(account: Account, settings: Settings) -> StackState:
    """The stack of Handoff with this name, which serves or has served. Raises Stopped, and botocore's errors."""
    name, region, deploy = settings.stack, account.region, f"handoff deploy {settings.options}"
    stack = describe(account.cloudformation, name)
    if stack is None:
        raise Stopped(
            f"There is no stack {name} in {region}. Nothing was done. Name another one with --stack or --region, or deploy "
            f"it: {deploy}"
        )
    if owner_of(account.cloudformation, stack) is Owner.OTHER:
        raise Stopped(
            f"The stack {name} in {region} is not one of Handoff. Nothing was done. Name another one with --stack."
        )
    if not {"ApiUrl", "SecretsPrefix", "HandoffsTableName", "SessionsTableName"} <= stack.outputs.keys():
        raise Stopped(f"The stack {name} is not complete ({stack.status}). Nothing was done. Deploy it first: {deploy}")
    if stack.status.startswith("DELETE"):
        raise Stopped(
            f"The stack {name} is being removed ({stack.status}). Nothing was done. Finish that, then deploy it: {deploy}"
        )
    return stack


def _planner(client: Any, stack_id: str) -> Owner:
    """A stack that was never created has no template, but its plans have."""
    pages = client.get_paginator("list_change_sets").paginate(StackName=stack_id)
    plans = [one["ChangeSetId"] for page in pages for one in page.get("Summaries", ())]
    if not plans:
        return Owner.NOBODY
    marks = {template.mark_of(_template(client, StackName=stack_id, ChangeSetName=plan)) for plan in plans}
    return Owner.HANDOFF if marks == {template.mark_of(template.load())} else Owner.OTHER


def _template(client: Any, **of: str) -> Mapping[str, Any]:
    """Empty if there is none, or none in JSON, which is what a deploy uploads and what SAM is translated to."""
    try:
        body = client.get_template(**of, TemplateStage="Processed")["TemplateBody"]
        found = json.loads(body) if isinstance(body, str) else body
    except ClientError as error:
        if code_of(error) not in ("ValidationError", "ChangeSetNotFound"):
            raise
        return {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
