"""The bucket for code and templates: private, one for each account and region, every object named by its content."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from local.operate.deploy.aws import Account
from local.operate.deploy.problems import Stopped, code_of

_WITHOUT_LOCATION = "us-east-1"  # the one region that a new bucket must not name
_MADE_BY = ("handoff:made-by", "handoff deploy")
"""The tag that tells the bucket from one of another program in the same account: its name can be guessed."""
_KEY = re.compile(r"[A-Za-z][A-Za-z0-9-]*/[0-9a-f]{64}\.(zip|json)")
_MISSING = frozenset({"404", "NoSuchBucket", "NotFound", "NoSuchKey"})


def bucket_name(account: str, region: str) -> str:
    return f"handoff-deploy-{account}-{region}"


@dataclass(frozen=True)
class Bucket:
    """Every call names the expected owner: the bucket's name can be guessed, so that it may be another account's."""

    account: Account

    @property
    def name(self) -> str:
        return bucket_name(self.account.number, self.account.region)

    @property
    def _owned(self) -> dict[str, str]:
        return {"Bucket": self.name, "ExpectedBucketOwner": self.account.number}

    def exists(self) -> bool:
        """Raises Stopped if the name belongs to another account."""
        try:
            self.account.s3.head_bucket(**self._owned)
        except ClientError as error:
            if code_of(error) in _MISSING:
                return False
            if code_of(error) == "403":
                raise Stopped(
                    f"The bucket {self.name} is not yours, or you may not read it, so it was left alone. "
                    "`handoff deploy --policy` prints the rights that are needed."
                ) from error
            raise
        return True

    def is_marked(self) -> bool:
        """Whether `handoff deploy` has made this bucket, or taken it over when it had no mark."""
        key, value = _MADE_BY
        return self._tags().get(key) == value

    def _tags(self) -> dict[str, str]:
        try:
            found = self.account.s3.get_bucket_tagging(**self._owned)["TagSet"]
        except ClientError as error:
            if code_of(error) != "NoSuchTagSet":
                raise
            return {}
        return {one["Key"]: one["Value"] for one in found}

    def _mark(self) -> None:
        """Other tags stay. Raises Stopped if something else keeps its objects here."""
        if self.is_marked():
            return
        key, value = _MADE_BY
        if other := next((one for one in self.keys() if not _KEY.fullmatch(one)), None):
            raise Stopped(
                f"The bucket {self.name} has {other} in it, which `handoff deploy` did not upload. Nothing was uploaded. If "
                f"the bucket is there for Handoff, give it the tag {key} = {value}, then repeat the command."
            )
        tags = [{"Key": name, "Value": one} for name, one in {**self._tags(), key: value}.items()]
        self.account.s3.put_bucket_tagging(**self._owned, Tagging={"TagSet": tags})

    def ensure(self) -> bool:
        """Make the bucket if it is missing, mark it, and set what keeps it private; idempotent. Returns whether it is new."""
        s3, is_new = self.account.s3, not self.exists()
        if is_new:
            place = {"LocationConstraint": self.account.region}
            more = {} if self.account.region == _WITHOUT_LOCATION else {"CreateBucketConfiguration": place}
            try:
                s3.create_bucket(Bucket=self.name, ObjectOwnership="BucketOwnerEnforced", **more)
            except ClientError as error:
                if code_of(error) != "BucketAlreadyOwnedByYou":  # another deploy was faster
                    raise
        self._mark()
        s3.put_public_access_block(
            **self._owned,
            PublicAccessBlockConfiguration={
                "BlockPublicAcls": True,
                "IgnorePublicAcls": True,
                "BlockPublicPolicy": True,
                "RestrictPublicBuckets": True,
            },
        )
        s3.put_bucket_encryption(
            **self._owned,
            ServerSideEncryptionConfiguration={
                "Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]
            },
        )
        return is_new

    def upload(self, stack: str, content: bytes, suffix: str) -> str:
        """Store the content under its hash, unless it is there; returns the key. An object is never overwritten."""
        key = f"{stack}/{hashlib.sha256(content).hexdigest()}{suffix}"
        try:
            found = self.account.s3.head_object(**self._owned, Key=key)
        except ClientError as error:
            if code_of(error) not in _MISSING:
                raise
        else:
            if found["ContentLength"] == len(content):
                return key
        self.account.s3.put_object(**self._owned, Key=key, Body=content, ChecksumAlgorithm="SHA256")
        return key

    def url(self, key: str) -> str:
        """As CloudFormation takes it."""
        return f"https://{self.name}.s3.{self.account.region}.amazonaws.com/{key}"

    def keys(self, stack: str = "") -> Iterator[str]:
        """The objects of a stack, or all."""
        prefix = f"{stack}/" if stack else ""
        for page in self.account.s3.get_paginator("list_objects_v2").paginate(**self._owned, Prefix=prefix):
            yield from (one["Key"] for one in page.get("Contents", ()))

    def code_of_stack(self, stack: str) -> tuple[list[str], list[str]]:
        """What was uploaded for a stack, and what something else keeps beside it."""
        keys = list(self.keys(stack))
        return [key for key in keys if _KEY.fullmatch(key)], [key for key in keys if not _KEY.fullmatch(key)]

    def delete(self, keys: Sequence[str]) -> list[str]:
        """Delete these objects, and the bucket if nothing is left in it. Returns what AWS did not delete, with the reason."""
        failed: list[str] = []
        for start in range(0, len(keys), 1000):
            objects: list[dict[str, Any]] = [{"Key": key} for key in keys[start : start + 1000]]
            done = self.account.s3.delete_objects(**self._owned, Delete={"Objects": objects, "Quiet": True})
            failed += [f"{one.get('Key')} ({one.get('Code')})" for one in done.get("Errors", ())]
        if next(self.keys(), None) is None:
            self.account.s3.delete_bucket(**self._owned)
        return failed
