"""Tables, queues, files, secrets and code that outlive a stack: deleted only where a mark shows that they are its own."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from botocore.exceptions import ClientError

from local.operate.deploy import secret_store
from local.operate.deploy.aws import Account
from local.operate.deploy.bucket import Bucket
from local.operate.deploy.owner import Owner, owner_of
from local.operate.deploy.problems import Stopped, code_of
from local.operate.deploy.stacks import StackState, describe
from local.operate.deploy.template import BUCKET, QUEUE, TABLE

KEPT = "DELETE_SKIPPED"
_MADE_BY = "handoff:stack-id"
"""The tag that the template gives to tables, queues and the bucket.

CloudFormation's own tags are not set on tables, and a table that was
restored from a backup has no tags."""
_BY_HAND = {
    TABLE: "aws dynamodb delete-table --table-name",
    QUEUE: "aws sqs delete-queue --queue-url",
    BUCKET: "aws s3 rb --force",
}
_GONE = frozenset(
    {
        "ResourceNotFoundException",
        "AWS.SimpleQueueService.NonExistentQueue",
        "QueueDoesNotExist",
        "ParameterNotFound",
        "NoSuchBucket",
    }
)


@dataclass
class Left:
    """Physical ids; those of tables, queues and buckets with the id of the stack that made them.

    `doubtful` are those without the mark, with the command that deletes one by hand. `notes` name what was found
    beside it and is left alone, each in a sentence.
    """

    tables: dict[str, str] = field(default_factory=dict)
    queues: dict[str, str] = field(default_factory=dict)
    buckets: dict[str, str] = field(default_factory=dict)
    secrets: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    doubtful: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.tables or self.queues or self.buckets or self.secrets or self.code)

    def without(self, deleted: "Left") -> "Left":
        """The rest: a queue is seen for a minute after it was deleted."""
        return Left(
            {name: by for name, by in self.tables.items() if name not in deleted.tables},
            {name: by for name, by in self.queues.items() if name not in deleted.queues},
            {name: by for name, by in self.buckets.items() if name not in deleted.buckets},
            [name for name in self.secrets if name not in deleted.secrets],
            [key for key in self.code if key not in deleted.code],
        )

    def names(self) -> list[str]:
        """All but the code, whose names tell nobody anything."""
        return [*self.tables, *self.queues, *self.buckets, *self.secrets]


@dataclass
class LeftBehind:
    """Looks for what stacks of one name have made."""

    account: Account
    stack: str

    def by(self, stack: StackState) -> Left:
        """What this stack of Handoff has now, and would leave."""
        left = Left()
        self._resources(left, stack.id, lambda _: True)
        self._doubt(left)
        self._secrets(left, [stack.parameters.get("SecretsPrefix", "")])
        self._code(left)
        return left

    def by_removed(self) -> Left:
        """CloudFormation remembers removed stacks for 90 days, and which of their resources it kept.

        A name proves nothing: only what carries the mark of a removed stack of Handoff is taken.
        """
        left, prefixes = Left(), list[str]()
        for stack in self._removed():
            is_own = owner_of(self.account.cloudformation, stack) is Owner.HANDOFF
            self._resources(left, stack.id, lambda status: status == KEPT, is_own=is_own)
            if is_own:
                prefixes.append(stack.parameters.get("SecretsPrefix", ""))
        self._doubt(left)
        self._secrets(left, prefixes)
        self._code(left)
        return left

    def delete(self, left: Left) -> list[str]:
        """Delete it, each after another look at its mark. Returns what could not be deleted, with the reason."""
        account = self.account
        deletions: list[tuple[str, Callable[[], Any]]] = [
            *((one, partial(self._delete_table, one, by)) for one, by in left.tables.items()),
            *((one, partial(self._delete_queue, one, by)) for one, by in left.queues.items()),
            *((one, partial(self._delete_bucket, one, by)) for one, by in left.buckets.items()),
            *((one, partial(account.ssm.delete_parameter, Name=one)) for one in left.secrets),
        ]
        failed: list[str] = []
        for name, delete in deletions:
            try:
                delete()
            except _Unmarked:
                failed.append(f"{name} (it does not carry the mark any more)")
            except ClientError as error:
                if code_of(error) not in _GONE:
                    failed.append(f"{name} ({error})")
        return [*failed, *self._delete_code(left.code)]

    def _delete_table(self, table: str, made_by: str) -> None:
        if _has_mark(self._tags_of_table(table), made_by):
            self.account.dynamodb.delete_table(TableName=table)

    def _delete_queue(self, queue: str, made_by: str) -> None:
        if _has_mark(self._tags_of_queue(queue), made_by):
            self.account.sqs.delete_queue(QueueUrl=queue)

    def _delete_bucket(self, bucket: str, made_by: str) -> None:
        """With all that is in it. A function that still runs may add a file: then a repeated run deletes it."""
        s3, owned = self.account.s3, {"Bucket": bucket, "ExpectedBucketOwner": self.account.number}
        if not _has_mark(self._tags_of_bucket(bucket), made_by):
            return
        while keys := s3.list_objects_v2(**owned).get("Contents", []):
            s3.delete_objects(**owned, Delete={"Objects": [{"Key": one["Key"]} for one in keys], "Quiet": True})
        s3.delete_bucket(**owned)

    def _delete_code(self, keys: list[str]) -> list[str]:
        bucket = Bucket(self.account)
        try:
            return bucket.delete(keys) if keys and bucket.is_marked() else []
        except ClientError as error:
            return [] if code_of(error) in _GONE else [f"{bucket.name} ({error})"]

    def _removed(self) -> Iterator[StackState]:
        client = self.account.cloudformation
        for page in client.get_paginator("list_stacks").paginate(StackStatusFilter=["DELETE_COMPLETE"]):
            for one in page["StackSummaries"]:
                if one["StackName"] == self.stack and (found := describe(client, one["StackId"])):
                    yield found

    def _resources(self, left: Left, stack_id: str, is_wanted: Callable[[str], bool], *, is_own: bool = True) -> None:
        look = {TABLE: self._tags_of_table, QUEUE: self._tags_of_queue, BUCKET: self._tags_of_bucket}
        owns = {TABLE: left.tables, QUEUE: left.queues, BUCKET: left.buckets}
        for kind, physical in self._with_data(stack_id, is_wanted):
            tags, own = look[kind](physical), owns[kind]
            if tags is None:
                continue
            if is_own and tags.get(_MADE_BY) == stack_id:
                own[physical] = stack_id
            else:
                left.doubtful[physical] = _BY_HAND[kind]

    def _with_data(self, stack_id: str, is_wanted: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
        pages = self.account.cloudformation.get_paginator("list_stack_resources").paginate(StackName=stack_id)
        try:
            for page in pages:
                for one in page["StackResourceSummaries"]:
                    physical = one.get("PhysicalResourceId")
                    if physical and one["ResourceType"] in (TABLE, QUEUE, BUCKET) and is_wanted(one["ResourceStatus"]):
                        yield one["ResourceType"], physical
        except ClientError as error:
            if code_of(error) != "ValidationError":  # a stack that was never created has none
                raise

    def _doubt(self, left: Left) -> None:
        """One note for all of them, once it is clear that no stack proves to have made them."""
        commands = [
            f"\n  {command} {physical} --region {self.account.region}"
            for physical, command in left.doubtful.items()
            if physical not in left.names()
        ]
        if commands:
            left.notes.append(
                f"Left alone, because nothing shows that Handoff made it: a stack {self.stack} has it or had it, but either the "
                f"stack lacks the mark of Handoff, or the resource lacks the stack's tag ({_MADE_BY}), so that it may be in "
                f"use. Look at each; to delete it yourself:{''.join(commands)}"
            )

    def _secrets(self, left: Left, prefixes: list[str]) -> None:
        """Of a prefix that no stack tells, only what carries the tag: a deploy stores secrets before it makes the stack."""
        known = dict.fromkeys(filter(None, prefixes))
        for prefix in known or [f"/{self.stack}"]:
            if user := next(self._others(prefix), None):
                left.notes.append(f"The secrets below {prefix} are kept: the stack {user} uses them, too.")
                continue
            own, others = secret_store.stored(self.account.ssm, prefix, stack=self.stack, by_name=prefix in known)
            left.secrets += own
            if others and known:
                left.notes.append(f"Not Handoff's, so left alone: {', '.join(others)}.")

    def _others(self, prefix: str) -> Iterator[str]:
        for page in self.account.cloudformation.get_paginator("describe_stacks").paginate():
            for one in page["Stacks"]:
                used = {out["OutputKey"]: out["OutputValue"] for out in one.get("Outputs", ())}
                asked = {each["ParameterKey"]: each.get("ParameterValue", "") for each in one.get("Parameters", ())}
                # One that is being created has no outputs yet.
                for theirs in (used.get("SecretsPrefix", ""), asked.get("SecretsPrefix", "")):
                    # A prefix below one of ours counts, too.
                    is_shared = theirs in (prefix, f"{prefix}-agent") or theirs.startswith(
                        (f"{prefix}/", f"{prefix}-agent/")
                    )
                    if one["StackName"] != self.stack and is_shared:
                        yield one["StackName"]

    def _code(self, left: Left) -> None:
        bucket = Bucket(self.account)
        try:
            if not bucket.exists():
                return
        except Stopped as stopped:
            left.notes.append(str(stopped))
            return
        if not bucket.is_marked():
            left.notes.append(
                f"The bucket {bucket.name} is left alone: it does not carry the mark of `handoff deploy`, which the next "
                "deploy gives to a bucket that it has made."
            )
            return
        left.code, others = bucket.code_of_stack(self.stack)
        if others:
            left.notes.append(f"Not uploaded by `handoff deploy`, so left in {bucket.name}: {', '.join(others)}.")

    def _tags_of_table(self, table: str) -> dict[str, str] | None:
        """None if there is no such table, or not for long."""
        dynamodb = self.account.dynamodb
        try:
            found = dynamodb.describe_table(TableName=table)["Table"]
            if found["TableStatus"] == "DELETING":
                return None
            pages = dynamodb.get_paginator("list_tags_of_resource").paginate(ResourceArn=found["TableArn"])
            return {one["Key"]: one["Value"] for page in pages for one in page["Tags"]}
        except ClientError as error:
            if code_of(error) in _GONE:
                return None
            raise

    def _tags_of_queue(self, queue: str) -> dict[str, str] | None:
        """None if there is no such queue."""
        try:
            return dict(self.account.sqs.list_queue_tags(QueueUrl=queue).get("Tags", {}))
        except ClientError as error:
            if code_of(error) in _GONE:
                return None
            raise

    def _tags_of_bucket(self, bucket: str) -> dict[str, str] | None:
        """None if there is no such bucket."""
        try:
            owned = {"Bucket": bucket, "ExpectedBucketOwner": self.account.number}
            return {one["Key"]: one["Value"] for one in self.account.s3.get_bucket_tagging(**owned)["TagSet"]}
        except ClientError as error:
            if code_of(error) == "NoSuchTagSet":
                return {}
            if code_of(error) in _GONE:
                return None
            raise


class _Unmarked(Exception):
    """It was marked when it was listed."""


def _has_mark(tags: Mapping[str, str] | None, made_by: str) -> bool:
    """False if it is gone. Raises _Unmarked."""
    if tags is None:
        return False
    if tags.get(_MADE_BY) != made_by:
        raise _Unmarked
    return True
