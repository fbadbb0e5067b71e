"""A change set: what AWS would change, before it does."""

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from local.operate.deploy.problems import Stopped, code_of
from local.operate.deploy.stacks import OURS, REVIEW, TAG, StackState, describe
from local.operate.deploy.template import QUEUE, TABLE

_NO_CHANGES = ("didn't contain changes", "No updates are to be performed")
_MARKS = {"Add": "+", "Modify": "~", "Remove": "-", "Import": "+", "Dynamic": "?"}
PERMISSION = "AWS::Lambda::Permission"
_ALREADY_RUNS = frozenset({"EXECUTE_IN_PROGRESS", "EXECUTE_COMPLETE"})


@dataclass(frozen=True)
class Change:
    """One resource. `replacement` is True, False or Conditional, as CloudFormation says it."""

    action: str
    resource: str
    kind: str
    replacement: str = "False"

    @property
    def loses_data(self) -> bool:
        """A table or queue whose place an empty one would take, or may take, or that would leave the stack."""
        return self.kind in (TABLE, QUEUE) and (self.action == "Remove" or self.replacement in ("True", "Conditional"))

    def line(self) -> str:
        word = {"True": "  REPLACED", "Conditional": "  may be replaced"}.get(self.replacement, "")
        return f"  {_MARKS.get(self.action, '?')} {self.resource}  {self.kind.removeprefix('AWS::')}{word}"


def summary(changes: Sequence[Change]) -> str:
    """Counts by what happens."""
    words = (("Add", "added"), ("Modify", "changed"), ("Remove", "removed"))
    counts = [f"{sum(one.action == action for one in changes)} {word}" for action, word in words]
    replaced = sum(one.replacement == "True" for one in changes)
    return ", ".join([*counts, *([f"{replaced} of them replaced"] if replaced else [])])


def shown(changes: Sequence[Change]) -> Iterator[str]:
    """One line for each change; the permissions of the API's routes, one for each route, in one line."""
    routes = [one for one in changes if one.kind == PERMISSION]
    yield from (one.line() for one in changes if one.kind != PERMISSION)
    for action in dict.fromkeys(one.action for one in routes):
        count = sum(one.action == action for one in routes)
        yield f"  {_MARKS.get(action, '?')} {count} permissions of the API to call functions"


@dataclass
class ChangeSet:
    """One plan for one stack."""

    client: Any
    id: str
    stack_id: str
    is_creation: bool
    has_made_stack: bool
    changes: list[Change]

    @property
    def _address(self) -> dict[str, str]:
        """The stack as well: a right to change one stack does not cover a change set that is named alone."""
        return {"StackName": self.stack_id, "ChangeSetName": self.id}

    def execute(self) -> None:
        """Start it, once: a repeated request is recognised. Raises Stopped if the stack has changed since it was made."""
        try:
            self.client.execute_change_set(
                **self._address,
                ClientRequestToken=self.id.rpartition("/")[2],
                # What a failed deploy created is removed again, even tables: they are empty.
                RetainExceptOnCreate=True,
            )
        except ClientError as error:
            if code_of(error) != "InvalidChangeSetStatus":
                raise
            if self._execution_status() in _ALREADY_RUNS:
                return  # the answer to the first request was lost
            raise Stopped(
                "The stack was changed by another deploy since this plan was made, so it was not applied. "
                "Repeat the command."
            ) from error

    def discard(self) -> None:
        """Remove the plan, and the empty stack that it made, unless another deploy has a plan for it or has begun.

        Never raises an error of AWS: a plan that stays does nothing, and what the run has to say is said.
        """
        with suppress(BotoCoreError, ClientError):
            self._discard()

    def _discard(self) -> None:
        self.client.delete_change_set(**self._address)
        if not self.has_made_stack:
            return
        others = self.client.list_change_sets(StackName=self.stack_id).get("Summaries", [])
        found = describe(self.client, self.stack_id)
        if found and found.status == REVIEW and not [one for one in others if one["ChangeSetId"] != self.id]:
            self.client.delete_stack(StackName=self.stack_id)

    def _execution_status(self) -> str:
        return str(self.described().get("ExecutionStatus", ""))

    def described(self, **more: str) -> Any:
        return self.client.describe_change_set(**self._address, **more)


def make(
    client: Any,
    stack: StackState | None,
    name: str,
    *,
    template_url: str,
    parameters: Mapping[str, str],
    known: Sequence[str],
    sleep: Callable[[float], None] = time.sleep,
) -> ChangeSet | None:
    """Let CloudFormation compare; None if nothing would change. Raises Stopped if it refuses the template.

    `known` are the template's parameters: those that are not given keep their values.
    """
    is_creation = stack is None or stack.status == REVIEW
    kept = [] if stack is None or is_creation else [one for one in known if one in stack.parameters]
    made = client.create_change_set(
        StackName=name,
        ChangeSetName=f"handoff-{secrets.token_hex(8)}",
        ChangeSetType="CREATE" if is_creation else "UPDATE",
        TemplateURL=template_url,
        Parameters=[
            *({"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()),
            *({"ParameterKey": key, "UsePreviousValue": True} for key in kept if key not in parameters),
        ],
        Capabilities=["CAPABILITY_IAM"],
        Tags=[{"Key": TAG, "Value": OURS}],
    )
    change_set = ChangeSet(client, made["Id"], made["StackId"], is_creation, stack is None, [])
    try:
        found = _finished(change_set, sleep)
        if found["Status"] == "CREATE_COMPLETE":
            change_set.changes = list(_changes(change_set, found))
            return change_set
    except BaseException:
        change_set.discard()
        raise
    change_set.discard()
    reason = found.get("StatusReason", "no reason given")
    if any(words in reason for words in _NO_CHANGES):
        return None
    raise Stopped(f"CloudFormation refuses the plan: {reason} Nothing was changed.")


def _finished(change_set: ChangeSet, sleep: Callable[[float], None]) -> Any:
    while True:
        found = change_set.described()
        if not found["Status"].endswith(("_PENDING", "_IN_PROGRESS")):
            return found
        sleep(1.0)


def _changes(change_set: ChangeSet, page: Any) -> Iterator[Change]:
    while True:
        for one in page["Changes"]:
            change = one["ResourceChange"]
            yield Change(
                change["Action"],
                change["LogicalResourceId"],
                change["ResourceType"],
                str(change.get("Replacement", "False")),
            )
        if not page.get("NextToken"):
            return
        page = change_set.described(NextToken=page["NextToken"])
