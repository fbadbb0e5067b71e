"""A CloudFormation on loopback that speaks the real query protocol, with change sets, events, failures and roll-backs.

moto's answers a change set at once, reports no replacement, no event of a resource and never a failure. Here each look at
the events is one step of the operation under way, so that tests decide how far it has come, without sleeping.
"""

import itertools
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

from local.operate.deploy.template import created, values_of
from tests.support.servers import HttpServer, Request, Response

Document = dict[str, Any]
Fault = Callable[[str], Response | None]
TABLE = "AWS::DynamoDB::Table"
STACK = "AWS::CloudFormation::Stack"
NO_CHANGES = "The submitted information didn't contain changes. Submit different information to create a change set."


@dataclass
class Backend:
    """What stands behind the stacks. `apply` makes the resources of a stack (name, id), and returns physical ids and outputs."""

    read_template: Callable[[str], str]
    apply: Callable[[str, str, Document, Mapping[str, str]], tuple[dict[str, str], dict[str, str]]]


@dataclass
class FakeStack:
    name: str
    id: str
    status: str
    template: Document = field(default_factory=lambda: {"Resources": {}, "Parameters": {}, "Outputs": {}})
    attempted: Document = field(default_factory=dict)  # of a creation that is under way or has failed
    parameters: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    physical: dict[str, str] = field(default_factory=dict)
    skipped: set[str] = field(default_factory=set)
    events: list[dict[str, str]] = field(default_factory=list)
    work: Iterator[None] | None = None


@dataclass
class FakeChangeSet:
    id: str
    name: str
    stack: FakeStack
    template: Document
    parameters: dict[str, str]
    tags: dict[str, str]
    changes: list[dict[str, str]]
    status: str = "CREATE_COMPLETE"
    reason: str = ""
    execution: str = "AVAILABLE"


class Refused(Exception):
    """An error in the form of the protocol."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class FakeCloudFormation:
    """Use it as a context manager. `fail_on` names resources whose next creation or change fails, with the reason.

    `faults` see each action first and may answer in its place. `asked` has all actions, `tokens` the values of all fields.
    """

    def __init__(self, backend: Backend, *, account: str) -> None:
        self.backend = backend
        self.account = account
        self.stacks: dict[str, FakeStack] = {}
        self.change_sets: dict[str, FakeChangeSet] = {}
        self.fail_on: dict[str, str] = {}
        self.fail_rollback = False
        self.faults: list[Fault] = []
        self.asked: list[str] = []
        self.said: list[str] = []
        self._numbers = itertools.count(1)
        self._lock = threading.RLock()
        self._server = HttpServer(self._answer)

    @property
    def url(self) -> str:
        return self._server.url

    def __enter__(self) -> "FakeCloudFormation":
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    def live(self, name: str) -> FakeStack:
        """The stack with this name or id that is not removed, or any with this id."""
        for stack in self.stacks.values():
            if name == stack.id or (name == stack.name and stack.status != "DELETE_COMPLETE"):
                return stack
        raise Refused("ValidationError", f"Stack with id {name} does not exist")

    def finish(self) -> None:
        """Let everything under way come to its end."""
        with self._lock:
            for stack in self.stacks.values():
                while stack.work is not None:
                    self._step(stack)

    # --- the protocol

    def _answer(self, request: Request) -> Response:
        form = dict(parse_qsl(request.body.decode(), keep_blank_values=True))
        action = form["Action"]
        with self._lock:
            self.asked.append(action)
            self.said.append(request.body.decode())
            for fault in list(self.faults):
                if (answer := fault(action)) is not None:
                    return answer
            try:
                result = getattr(self, f"_{action}")(form)
            except Refused as refused:
                return error(refused.code, str(refused))
        body = f"<{action}Response><{action}Result>{_xml(result)}</{action}Result></{action}Response>"
        return Response(200, body.encode(), {"content-type": "text/xml"})

    def _DescribeStacks(self, form: Mapping[str, str]) -> Document:  # noqa: N802  # as the protocol calls it
        named = form.get("StackName")
        found = (
            [self.live(named)] if named else [one for one in self.stacks.values() if one.status != "DELETE_COMPLETE"]
        )
        return {"Stacks": [self._described(stack) for stack in found]}

    def _described(self, stack: FakeStack) -> Document:
        return {
            "StackId": stack.id,
            "StackName": stack.name,
            "StackStatus": stack.status,
            "CreationTime": _now(),
            "Parameters": _pairs("Parameter", stack.parameters),
            "Outputs": _pairs("Output", stack.outputs),
            "Tags": [{"Key": key, "Value": value} for key, value in stack.tags.items()],
        }

    def _CreateChangeSet(self, form: Mapping[str, str]) -> Document:  # noqa: N802  # see above
        template = json.loads(self.backend.read_template(form["TemplateURL"]))
        is_creation = form["ChangeSetType"] == "CREATE"
        if is_creation:
            stack = next(
                (
                    one
                    for one in self.stacks.values()
                    if one.name == form["StackName"] and one.status == "REVIEW_IN_PROGRESS"
                ),
                None,
            )
            stack = stack or self._new_stack(form["StackName"])
        else:
            stack = self.live(form["StackName"])
            if not stack.status.endswith("_COMPLETE") or stack.status == "ROLLBACK_COMPLETE":
                raise Refused("ValidationError", f"Stack:{stack.id} is in {stack.status} state and can not be updated.")
        given = {}
        for one in _members(form, "Parameters"):
            given[one["ParameterKey"]] = (
                stack.parameters[one["ParameterKey"]] if one.get("UsePreviousValue") else one["ParameterValue"]
            )
        parameters = values_of(template, given)
        tags = {one["Key"]: one["Value"] for one in _members(form, "Tags")}
        changes = list(_changes(stack, template, parameters))
        number = next(self._numbers)
        change_set = FakeChangeSet(
            f"arn:aws:cloudformation:us-east-1:{self.account}:changeSet/{form['ChangeSetName']}/{number}",
            form["ChangeSetName"],
            stack,
            template,
            parameters,
            tags,
            changes,
        )
        if not is_creation and not changes and stack.template.get("Outputs") == template.get("Outputs"):
            change_set.status, change_set.reason, change_set.execution = "FAILED", NO_CHANGES, "UNAVAILABLE"
        self.change_sets[change_set.id] = change_set
        return {"Id": change_set.id, "StackId": stack.id}

    def _new_stack(self, name: str) -> FakeStack:
        if any(one.name == name and one.status != "DELETE_COMPLETE" for one in self.stacks.values()):
            raise Refused(
                "ValidationError", f"Stack {name} already exists and cannot be created again with the changeSet."
            )
        number = next(self._numbers)
        stack = FakeStack(
            name, f"arn:aws:cloudformation:us-east-1:{self.account}:stack/{name}/{number}", "REVIEW_IN_PROGRESS"
        )
        self.stacks[stack.id] = stack
        self._event(stack, name, STACK, "REVIEW_IN_PROGRESS", physical=stack.id)
        return stack

    def _change_set(self, form: Mapping[str, str]) -> FakeChangeSet:
        try:
            return self.change_sets[form["ChangeSetName"]]
        except KeyError as missing:
            raise Refused("ChangeSetNotFound", f"ChangeSet [{form['ChangeSetName']}] does not exist") from missing

    def _DescribeChangeSet(self, form: Mapping[str, str]) -> Document:  # noqa: N802  # see above
        found, start, page = self._change_set(form), int(form.get("NextToken", 0)), 30
        more = {"NextToken": str(start + page)} if start + page < len(found.changes) else {}
        return {
            "ChangeSetId": found.id,
            "StackId": found.stack.id,
            "Status": found.status,
            "StatusReason": found.reason,
            "ExecutionStatus": found.execution,
            "Changes": [{"Type": "Resource", "ResourceChange": one} for one in found.changes[start : start + page]],
            **more,
        }

    def _ListChangeSets(self, form: Mapping[str, str]) -> Document:  # noqa: N802  # see above
        stack = self.live(form["StackName"])
        return {"Summaries": [{"ChangeSetId": one.id} for one in self.change_sets.values() if one.stack is stack]}

    def _DeleteChangeSet(self, form: Mapping[str, str]) -> Document:  # noqa: N802  # see above
        self.change_sets.pop(form["ChangeSetName"], None)
        return {}

    def _ExecuteChangeSet(self, form: Mapping[str, str]) -> Document:  # noqa: N802  # see above
        found = self._change_set(form)
        if found.execution != "AVAILABLE" or found.stack.work is not None:
            raise Refused("InvalidChangeSetStatus", f"ChangeSet [{found.id}] cannot be executed in its current status")
        for other in self.change_sets.values():
            if other.stack is found.stack and other is not found:
                other.execution = "OBSOLETE"
        found.execution = "EXECUTE_IN_PROGRESS"
        verb = "CREATE" if found.stack.status == "REVIEW_IN_PROGRESS" else "UPDATE"
        found.stack.tags, found.stack.attempted = found.tags, found.template
        found.stack.status = f"{verb}_IN_PROGRESS"
        found.stack.work = self._carry_out(found, verb)
        return {}

    def _DescribeStackEvents(self, form: Mapping[str, str]) -> Document:  # noqa: N802  # see above
        stack = self.live(form["StackName"])
        if stack.work is not None:
            self._step(stack)
        newest = list(reversed(stack.events))
        start, page = int(form.get("NextToken", 0)), 20
        more = {"NextToken": str(start + page)} if start + page < len(newest) else {}
        return {"StackEvents": newest[start : start + page], **more}

    def _GetTemplate(self, form: Mapping[str, str]) -> Document:  # noqa: N802  # see above
        stack = self.live(form["StackName"])
        if "ChangeSetName" in form:
            return {"TemplateBody": json.dumps(self._change_set(form).template)}
        if stack.status == "REVIEW_IN_PROGRESS":
            raise Refused("ValidationError", f"Stack with id {stack.id} does not exist")
        return {"TemplateBody": json.dumps(stack.template if stack.template["Resources"] else stack.attempted)}

    def _ListStackResources(self, form: Mapping[str, str]) -> Document:  # noqa: N802  # see above
        stack = self.live(form["StackName"])
        return {
            "StackResourceSummaries": [
                {
                    "LogicalResourceId": name,
                    "PhysicalResourceId": stack.physical.get(name, name),
                    "ResourceType": one["Type"],
                    "LastUpdatedTimestamp": _now(),
                    "ResourceStatus": "DELETE_SKIPPED" if name in stack.skipped else "CREATE_COMPLETE",
                }
                for name, one in created(stack.template, stack.parameters).items()
            ]
        }

    def _ListStacks(self, form: Mapping[str, str]) -> Document:  # noqa: N802  # see above
        wanted = [value for key, value in form.items() if key.startswith("StackStatusFilter")]
        return {
            "StackSummaries": [
                {"StackId": one.id, "StackName": one.name, "StackStatus": one.status, "CreationTime": _now()}
                for one in self.stacks.values()
                if one.status in wanted
            ]
        }

    def _DeleteStack(self, form: Mapping[str, str]) -> Document:  # noqa: N802  # see above
        stack = self.live(form["StackName"])
        if stack.status == "REVIEW_IN_PROGRESS":
            stack.status = "DELETE_COMPLETE"
        elif stack.status != "DELETE_COMPLETE":
            stack.status = "DELETE_IN_PROGRESS"
            stack.work = self._remove(stack)
        return {}

    def _ContinueUpdateRollback(self, form: Mapping[str, str]) -> Document:  # noqa: N802  # see above
        stack = self.live(form["StackName"])
        if stack.status != "UPDATE_ROLLBACK_FAILED":
            raise Refused("ValidationError", f"{stack.status} cannot be continued")
        stack.status = "UPDATE_ROLLBACK_IN_PROGRESS"
        stack.work = self._roll_back_again(stack)
        return {}

    # --- operations: each `yield` is one step

    def _step(self, stack: FakeStack) -> None:
        assert stack.work is not None
        if next(stack.work, "end") == "end":
            stack.work = None

    def _carry_out(self, found: FakeChangeSet, verb: str) -> Iterator[None]:
        stack = found.stack
        self._state(stack, f"{verb}_IN_PROGRESS")
        yield
        for change in found.changes:
            name, kind = change["LogicalResourceId"], change["ResourceType"]
            if name in self.fail_on:
                reason = self.fail_on.pop(name)
                self._event(stack, name, kind, f"{verb}_FAILED", reason=reason)
                found.execution = "EXECUTE_FAILED"
                yield from self._roll_back(stack, verb)
                return
            self._event(stack, name, kind, f"{verb}_COMPLETE")
        yield
        stack.physical, stack.outputs = self.backend.apply(stack.name, stack.id, found.template, found.parameters)
        stack.template, stack.parameters = found.template, found.parameters
        found.execution = "EXECUTE_COMPLETE"
        self._state(stack, f"{verb}_COMPLETE")

    def _roll_back(self, stack: FakeStack, verb: str) -> Iterator[None]:
        if verb == "CREATE":
            self._state(stack, "ROLLBACK_IN_PROGRESS")
            yield
            self._state(stack, "ROLLBACK_COMPLETE")
            return
        self._state(stack, "UPDATE_ROLLBACK_IN_PROGRESS")
        yield
        self._state(stack, "UPDATE_ROLLBACK_FAILED" if self.fail_rollback else "UPDATE_ROLLBACK_COMPLETE")

    def _roll_back_again(self, stack: FakeStack) -> Iterator[None]:
        self._state(stack, "UPDATE_ROLLBACK_IN_PROGRESS")
        yield
        self._state(stack, "UPDATE_ROLLBACK_COMPLETE")

    def _remove(self, stack: FakeStack) -> Iterator[None]:
        self._state(stack, "DELETE_IN_PROGRESS")
        yield
        for name, one in created(stack.template, stack.parameters).items():
            if name in self.fail_on:
                self._event(stack, name, one["Type"], "DELETE_FAILED", reason=self.fail_on.pop(name))
                self._state(stack, "DELETE_FAILED")
                return
            if one.get("DeletionPolicy") == "Retain":
                stack.skipped.add(name)
                self._event(stack, name, one["Type"], "DELETE_SKIPPED")
            else:
                self._event(stack, name, one["Type"], "DELETE_COMPLETE")
        yield
        self._state(stack, "DELETE_COMPLETE")

    def _state(self, stack: FakeStack, status: str) -> None:
        stack.status = status
        self._event(stack, stack.name, STACK, status, physical=stack.id)

    def _event(
        self, stack: FakeStack, name: str, kind: str, status: str, *, physical: str = "", reason: str = ""
    ) -> None:
        stack.events.append(
            {
                "EventId": f"{stack.name}-{next(self._numbers)}",
                "StackId": stack.id,
                "StackName": stack.name,
                "LogicalResourceId": name,
                "PhysicalResourceId": physical or f"{stack.name}-{name}-1A2B",
                "ResourceType": kind,
                "Timestamp": _now(),
                "ResourceStatus": status,
                "ResourceStatusReason": reason,
            }
        )


def error(code: str, message: str, status: int = 400) -> Response:
    """An error as CloudFormation answers it."""
    text = f"<Error><Type>Sender</Type><Code>{code}</Code><Message>{escape(message)}</Message></Error>"
    body = f"<ErrorResponse>{text}<RequestId>r</RequestId></ErrorResponse>"
    return Response(status, body.encode(), {"content-type": "text/xml"})


def _changes(stack: FakeStack, template: Document, parameters: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Resources as they are with these values, against those that exist: not how the product compares them."""
    before = _resolved(stack.template, stack.parameters)
    after = _resolved(template, parameters)
    for name, one in after.items():
        change = {"LogicalResourceId": name, "ResourceType": one["Type"]}
        if name not in before:
            yield {"Action": "Add", **change}
        elif before[name] != one:
            keys = [was["Properties"].get("KeySchema") for was in (before[name], one)]
            is_replaced = one["Type"] == "AWS::Lambda::Version" or (one["Type"] == TABLE and keys[0] != keys[1])
            yield {"Action": "Modify", **change, "Replacement": str(is_replaced)}
    for name, one in before.items():
        if name not in after:
            yield {"Action": "Remove", "LogicalResourceId": name, "ResourceType": one["Type"]}


def _resolved(template: Document, parameters: Mapping[str, str]) -> dict[str, Any]:
    text = json.dumps(created(template, parameters))
    for name, value in parameters.items():
        text = text.replace(f'{{"Ref": "{name}"}}', json.dumps(value)).replace(f"${{{name}}}", json.dumps(value)[1:-1])
    found: dict[str, Any] = json.loads(text)
    return found


def _members(form: Mapping[str, str], name: str) -> list[dict[str, str]]:
    found: dict[int, dict[str, str]] = {}
    for key, value in form.items():
        parts = key.split(".")
        if parts[:2] == [name, "member"] and len(parts) == 4:
            found.setdefault(int(parts[2]), {})[parts[3]] = value
    return [found[number] for number in sorted(found)]


def _pairs(kind: str, values: Mapping[str, str]) -> list[dict[str, str]]:
    return [{f"{kind}Key": key, f"{kind}Value": value} for key, value in values.items()]


def _xml(value: Any) -> str:
    if isinstance(value, dict):
        return "".join(f"<{key}>{_xml(one)}</{key}>" for key, one in value.items())
    if isinstance(value, list):
        return "".join(f"<member>{_xml(one)}</member>" for one in value)
    return escape(str(value))


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
