"""`handoff doctor --stack`: the bucket for the files of sessions, against what the template sets."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from botocore.exceptions import ClientError

from local.operate.deploy.aws import Account
from local.operate.deploy.problems import DENIED, code_of
from local.operate.deploy.template import load

_FORBIDDEN = DENIED | {"403"}
_MISSING = frozenset({"404", "NoSuchBucket"})
_NOT_SET = frozenset(
    {
        "NoSuchPublicAccessBlockConfiguration",
        "ServerSideEncryptionConfigurationNotFoundError",
        "NoSuchLifecycleConfiguration",
        "NoSuchBucketPolicy",
    }
)


def files_check(account: Account, bucket: str, parameters: Mapping[str, str]) -> dict[str, Any]:
    """The finding about the bucket. Reads its settings only, never an object."""
    place = {"Bucket": bucket, "ExpectedBucketOwner": account.number}
    template = load()
    days = parameters.get("FileDays") or str(template["Parameters"]["FileDays"]["Default"])
    try:
        account.s3.head_bucket(**place)
        wrong = list(_wrong(account.s3, place, template, days))
    except ClientError as error:
        if code_of(error) in _MISSING:
            return {
                "ok": False,
                "detail": f"{bucket} does not exist, so no file is kept, read or sent",
                "fix": f"make a private bucket {bucket} in {account.region}, then repeat this check",
            }
        if code_of(error) in _FORBIDDEN:
            return {
                "ok": None,
                "detail": f"{bucket} is not yours, or you may not read its settings ({error.operation_name})",
                "fix": "handoff deploy --policy",
            }
        raise
    if wrong:
        fix = f"set it for {bucket} in the S3 console, as FilesBucket and FilesBucketPolicy in template.yaml have it"
        return {"ok": False, "detail": f"{bucket}: {'; '.join(wrong)}", "fix": fix}
    return {
        "ok": True,
        "detail": f"{bucket} is private and encrypted, and deletes files after {days} days at the latest",
    }


def _wrong(s3: Any, place: Mapping[str, str], template: Mapping[str, Any], days: str) -> Iterator[str]:
    """What differs from the template."""
    resources = template["Resources"]
    expected = resources["FilesBucket"]["Properties"]
    access = _asked(s3.get_public_access_block, place).get("PublicAccessBlockConfiguration")
    if access != expected["PublicAccessBlockConfiguration"]:
        yield "public access is not blocked"
    encryption = _asked(s3.get_bucket_encryption, place).get("ServerSideEncryptionConfiguration", {})
    (wanted,) = expected["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    algorithm = wanted["ServerSideEncryptionByDefault"]["SSEAlgorithm"]
    used = [rule.get("ApplyServerSideEncryptionByDefault", {}) for rule in encryption.get("Rules", ())]
    if [one.get("SSEAlgorithm") for one in used] != [algorithm]:
        yield f"it is not encrypted with {algorithm}"
    most = template["Mappings"]["BucketDays"][days]["Files"]
    rules = _asked(s3.get_bucket_lifecycle_configuration, place).get("Rules", [])
    ends = [rule.get("Expiration", {}).get("Days") for rule in rules if rule["Status"] == "Enabled"]
    if [end for end in ends if end is not None] != [most]:
        yield f"its lifecycle does not delete files after {most} days"
    policy = json.loads(_asked(s3.get_bucket_policy, place).get("Policy", "{}"))
    (tls_only,) = resources["FilesBucketPolicy"]["Properties"]["PolicyDocument"]["Statement"]
    denied = [each.get("Condition") for each in policy.get("Statement", ()) if each.get("Effect") == "Deny"]
    if tls_only["Condition"] not in denied:
        yield "it answers without TLS"


def _asked(read: Callable[..., Mapping[str, Any]], place: Mapping[str, str]) -> Mapping[str, Any]:
    """The answer of S3; empty if the bucket has no such setting."""
    try:
        return read(**place)
    except ClientError as error:
        if code_of(error) not in _NOT_SET:
            raise
        return {}
