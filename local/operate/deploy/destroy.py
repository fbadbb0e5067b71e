"""`handoff destroy`: removes the stack, and what it keeps only if that is asked for."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

from local.operate.deploy.apply import refuse_others
from local.operate.deploy.aws import Account
from local.operate.deploy.bucket import Bucket
from local.operate.deploy.console import Talk
from local.operate.deploy.problems import Stopped, code_of
from local.operate.deploy.stacks import REVIEW, Follower, StackState, describe
from local.operate.deploy.template import QUEUE, TABLE

_KEPT = "DELETE_SKIPPED"
_MADE_BY = "handoff:stack-id"
"""The tag that the template gives to tables and queues. CloudFormation's own tags are not set on tables, and a table that was
restored from a backup has no tags."""
_GONE = frozenset(
    {"ResourceNotFoundException", "AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist", "ParameterNotFound"}
)


@dataclass
class Left:
    """Resources that outlive the stack: physical ids by type, the prefix of its secrets, and its address.

    `doubtful` are tables that a removed stack of this name kept, and of which nothing shows that they are still its own.
    """

    tables: list[str] = field(default_factory=list)
    queues: list[str] = field(default_factory=list)
    doubtful: list[str] = field(default_factory=list)
    prefix: str = ""
    url: str = ""

    def __bool__(self) -> bool:
        return bool(self.tables or self.queues)


@dataclass
class Destroy:
    """One run; it may be repeated after any interruption."""

    account: Account
    stack: str
    talk: Talk
    delete_data: bool = False

    def run(self) -> dict[str, Any]:
        """Raises Stopped. Returns what was removed and what is kept."""
        client = self.account.cloudformation
        stack = describe(client, self.stack)
        if stack is not None and stack.is_busy and not stack.status.startswith("DELETE"):
            raise Stopped(
                f"AWS is at work on the stack ({stack.status}). Nothing was removed. Repeat the command when it is done."
            )
        if stack is not None:
            refuse_others(stack)
            left = self._of(stack)
            self._agree(left)
            self._remove(stack)
        else:
            left = self._of_removed()
            self._tell_doubtful(left)
            if not left:
                raise Stopped(
                    f"There is no stack {self.stack} in {self.account.region}, and nothing that one has left."
                )
            self.talk.say(f"There is no stack {self.stack} any more, but it has left data.")
            self._agree(left)
        if self.delete_data:
            self._delete(left)
        elif left:
            self._tell_kept(left)
        return {
            "stack": self.stack,
            "url": left.url,
            "deleted_data": self.delete_data,
            "kept": [] if self.delete_data else [*left.tables, *left.queues],
        }

    def _of(self, stack: StackState) -> Left:
        found = self._resources(stack.id, lambda _: True)
        found.prefix = stack.parameters.get("SecretsPrefix", "")
        found.url = stack.outputs.get("ApiUrl", "")
        return found

    def _of_removed(self) -> Left:
        """CloudFormation remembers removed stacks for 90 days, and which of their resources it kept.

        A name proves nothing: only what carries the mark of a removed stack of Handoff is taken.
        """
        left = Left()
        for stack in self._removed():
            found = self._resources(stack.id, lambda status: status == _KEPT)
            for table in found.tables:
                tags = self._tags_of_table(table)
                if stack.is_ours and tags is not None and tags.get(_MADE_BY) == stack.id:
                    left.tables.append(table)
                elif tags is not None:
                    left.doubtful.append(table)
            if stack.is_ours:
                left.queues += [one for one in found.queues if self._tags_of_queue(one).get(_MADE_BY) == stack.id]
                left.prefix = left.prefix or stack.parameters.get("SecretsPrefix", "")
        left.doubtful = [table for table in left.doubtful if table not in left.tables]
        return left

    def _removed(self) -> Iterator[StackState]:
        client = self.account.cloudformation
        for page in client.get_paginator("list_stacks").paginate(StackStatusFilter=["DELETE_COMPLETE"]):
            for one in page["StackSummaries"]:
                if one["StackName"] == self.stack and (found := describe(client, one["StackId"])):
                    yield found

    def _resources(self, stack_id: str, is_wanted: Callable[[str], bool]) -> Left:
        left = Left()
        try:
            for page in self.account.cloudformation.get_paginator("list_stack_resources").paginate(StackName=stack_id):
                for one in page["StackResourceSummaries"]:
                    kinds = {TABLE: left.tables, QUEUE: left.queues}
                    physical = one.get("PhysicalResourceId")
                    if physical and one["ResourceType"] in kinds and is_wanted(one["ResourceStatus"]):
                        kinds[one["ResourceType"]].append(physical)
        except ClientError as error:
            if code_of(error) != "ValidationError":
                raise
        return left

    def _tags_of_table(self, table: str) -> dict[str, str] | None:
        """None if there is no such table."""
        dynamodb = self.account.dynamodb
        try:
            arn = dynamodb.describe_table(TableName=table)["Table"]["TableArn"]
            pages = dynamodb.get_paginator("list_tags_of_resource").paginate(ResourceArn=arn)
            return {one["Key"]: one["Value"] for page in pages for one in page["Tags"]}
        except ClientError as error:
            if code_of(error) in _GONE:
                return None
            raise

    def _tags_of_queue(self, queue: str) -> dict[str, str]:
        try:
            return dict(self.account.sqs.list_queue_tags(QueueUrl=queue).get("Tags", {}))
        except ClientError as error:
            if code_of(error) in _GONE:
                return {}
            raise

    def _agree(self, left: Left) -> None:
        talk = self.talk
        talk.say(
            f"This removes the stack {self.stack} in {self.account.region}: functions, API, schedule, alarms, logs."
        )
        if self.delete_data:
            talk.say(
                f"With --delete-data also: {', '.join([*left.tables, *left.queues]) or 'no tables'}, the secrets below "
                f"{left.prefix or 'its prefix'}, and the uploaded code. All sessions and transcripts are lost."
            )
            refused = f"To delete the data without a question: handoff destroy --stack {self.stack} --delete-data --yes"
            if (
                not talk.yes
                and talk.answer("Type the name of the stack to delete everything: ", refused=refused) != self.stack
            ):
                raise Stopped("Nothing was removed.")
            return
        talk.say("Tables and queues are kept, with all data, and cost little. --delete-data removes them as well.")
        refused = "Repeat the command with --yes, or at a terminal. Nothing was removed."
        if not talk.confirm("Remove it? [y/N] ", refused=refused):
            raise Stopped("Nothing was removed.")

    def _remove(self, stack: StackState) -> None:
        client = self.account.cloudformation
        if stack.status == REVIEW:
            client.delete_stack(StackName=stack.id)
            return
        follower = Follower(client, stack.id, self.talk.event, self.talk.say, self.talk.sleep)
        if not stack.is_busy:
            client.delete_stack(StackName=stack.id)
        end = follower.follow(is_running=stack.is_busy)
        if end != "DELETE_COMPLETE":
            reasons = "; ".join(f"{one.resource}: {one.reason}" for one in follower.failures[:3])
            raise Stopped(f"AWS could not remove all of it ({end}). {reasons} Mend that, then repeat the command.")
        self.talk.say(f"The stack {self.stack} is removed.")

    def _delete(self, left: Left) -> None:
        for table in left.tables:
            self._once(self.account.dynamodb.delete_table, TableName=table)
        for queue in left.queues:
            self._once(self.account.sqs.delete_queue, QueueUrl=queue)
        self._delete_secrets(left.prefix)
        bucket = Bucket(self.account)
        if bucket.exists():
            bucket.empty(self.stack)
        self.talk.say("The data, the secrets and the uploaded code are deleted.")
        self.talk.say("AWS keeps a backup of a table with point-in-time recovery for 35 days.")

    def _delete_secrets(self, prefix: str) -> None:
        if not prefix:
            return
        if user := next(self._others(prefix), None):
            self.talk.say(f"The secrets below {prefix} are kept: the stack {user} uses them, too.")
            return
        for path in (prefix, f"{prefix}-agent"):
            for page in self.account.ssm.get_paginator("get_parameters_by_path").paginate(Path=path, Recursive=True):
                for one in page["Parameters"]:
                    self._once(self.account.ssm.delete_parameter, Name=one["Name"])

    def _others(self, prefix: str) -> Iterator[str]:
        for page in self.account.cloudformation.get_paginator("describe_stacks").paginate():
            for one in page["Stacks"]:
                used = {out["OutputKey"]: out["OutputValue"] for out in one.get("Outputs", ())}
                theirs = used.get("SecretsPrefix", "")
                # Deletion goes down the tree, so that a prefix below one of ours counts, too.
                is_deleted = theirs in (prefix, f"{prefix}-agent") or theirs.startswith(
                    (f"{prefix}/", f"{prefix}-agent/")
                )
                if one["StackName"] != self.stack and is_deleted:
                    yield one["StackName"]

    @staticmethod
    def _once(delete: Callable[..., Any], **what: str) -> None:
        """Ignores resources that an earlier run has deleted."""
        try:
            delete(**what)
        except ClientError as error:
            if code_of(error) not in _GONE:
                raise

    def _tell_doubtful(self, left: Left) -> None:
        for table in left.doubtful:
            self.talk.say(
                f"{table} is left alone: a removed stack {self.stack} kept it, but the table does not carry the mark of a "
                f"stack of Handoff (tag {_MADE_BY}), so it may be in use. Look at it, and delete it yourself if it is not: "
                f"aws dynamodb delete-table --table-name {table} --region {self.account.region}"
            )

    def _tell_kept(self, left: Left) -> None:
        self.talk.say("Kept, with all data:")
        for name in (*left.tables, *left.queues):
            self.talk.say(f"  {name}")
        self.talk.say(f"Delete them with: handoff destroy --stack {self.stack} --delete-data")
