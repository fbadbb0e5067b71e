"""The rights that a deployer needs, derived from the types of resources in the template. For `handoff deploy --policy`."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from local.operate.deploy.bucket import bucket_name

_TAGS = "TagResource UntagResource"
_FUNCTIONS = "arn:aws:lambda:{region}:{account}:function:{stack}-*"
_ROLES = "arn:aws:iam::{account}:role/{stack}-*"
_TABLES = "arn:aws:dynamodb:{region}:{account}:table/{stack}-*"
_BUCKETS = "arn:aws:s3:::{lower}-filesbucket-*"
"""CloudFormation names a bucket for its stack in lower case."""
_TOPICS = "arn:aws:sns:{region}:{account}:{stack}-*"
_SECRETS = "arn:aws:ssm:{region}:{account}:parameter{prefix}"


@dataclass(frozen=True)
class Needs:
    """The actions of CloudFormation on one type of resource, in the deployer's name; `actions` are separated by spaces."""

    service: str
    resources: Sequence[str]
    actions: str
    condition: Mapping[str, Any] | None = None

    def statement(self, names: Mapping[str, str]) -> dict[str, Any]:
        statement: dict[str, Any] = {
            "Effect": "Allow",
            "Action": [f"{self.service}:{action}" for action in self.actions.split()],
            "Resource": [resource.format_map(names) for resource in self.resources],
        }
        if self.condition is not None:
            filled = json.loads(json.dumps(self.condition))
            for test in filled.values():
                test.update({key: value.format_map(names) for key, value in test.items() if isinstance(value, str)})
            statement["Condition"] = filled
        return statement


BY_TYPE: Mapping[str, Sequence[Needs]] = {
    "AWS::DynamoDB::Table": [
        Needs(
            "dynamodb",
            [_TABLES],
            f"CreateTable DescribeTable UpdateTable DeleteTable {_TAGS} ListTagsOfResource "
            "DescribeTimeToLive UpdateTimeToLive DescribeContinuousBackups UpdateContinuousBackups "
            "DescribeContributorInsights DescribeKinesisStreamingDestination GetResourcePolicy",
        ),
    ],
    "AWS::S3::Bucket": [
        Needs(
            "s3",
            [_BUCKETS],
            # The command makes and deletes a bucket of its own, too: ITSELF has what both need.
            "GetBucketPublicAccessBlock GetEncryptionConfiguration GetBucketOwnershipControls GetLifecycleConfiguration "
            "PutLifecycleConfiguration",
        ),
        # `handoff destroy --delete-data` empties it, the program for users removes a user's files, and `handoff data` moves
        # all of them.
        Needs("s3", [f"{_BUCKETS}/*"], "GetObject PutObject DeleteObject"),
    ],
    "AWS::S3::BucketPolicy": [Needs("s3", [_BUCKETS], "GetBucketPolicy PutBucketPolicy DeleteBucketPolicy")],
    "AWS::SQS::Queue": [
        Needs(
            "sqs",
            ["arn:aws:sqs:{region}:{account}:{stack}-*"],
            "CreateQueue DeleteQueue GetQueueAttributes SetQueueAttributes GetQueueUrl TagQueue UntagQueue ListQueueTags",
        ),
    ],
    "AWS::IAM::Role": [
        Needs(
            "iam",
            [_ROLES],
            "CreateRole GetRole UpdateRole DeleteRole UpdateAssumeRolePolicy TagRole UntagRole "
            "PutRolePolicy GetRolePolicy DeleteRolePolicy ListRolePolicies ListAttachedRolePolicies",
        ),
        Needs(
            "iam",
            [_ROLES],
            "PassRole",
            {"StringEquals": {"iam:PassedToService": ["lambda.amazonaws.com", "scheduler.amazonaws.com"]}},
        ),
    ],
    "AWS::Lambda::Function": [
        Needs(
            "lambda",
            [_FUNCTIONS],
            f"CreateFunction GetFunction GetFunctionConfiguration DeleteFunction ListTags {_TAGS} "
            "UpdateFunctionCode UpdateFunctionConfiguration GetFunctionCodeSigningConfig "
            "PutFunctionConcurrency DeleteFunctionConcurrency GetRuntimeManagementConfig GetFunctionRecursionConfig",
        ),
    ],
    "AWS::Lambda::Permission": [Needs("lambda", [_FUNCTIONS], "AddPermission RemovePermission GetPolicy")],
    "AWS::Lambda::EventInvokeConfig": [
        Needs(
            "lambda",
            [_FUNCTIONS],
            "PutFunctionEventInvokeConfig UpdateFunctionEventInvokeConfig "
            "GetFunctionEventInvokeConfig DeleteFunctionEventInvokeConfig",
        ),
    ],
    "AWS::Lambda::EventSourceMapping": [
        # A mapping's own id is not known before; the function that it names is.
        Needs(
            "lambda",
            ["*"],
            "CreateEventSourceMapping UpdateEventSourceMapping DeleteEventSourceMapping",
            {"ArnLike": {"lambda:FunctionArn": _FUNCTIONS}},
        ),
        Needs("lambda", ["*"], "GetEventSourceMapping ListEventSourceMappings"),
        Needs("lambda", ["arn:aws:lambda:{region}:{account}:event-source-mapping:*"], f"ListTags {_TAGS}"),
    ],
    "AWS::Lambda::Version": [
        Needs("lambda", [_FUNCTIONS], "PublishVersion ListVersionsByFunction GetProvisionedConcurrencyConfig"),
    ],
    "AWS::Lambda::Alias": [Needs("lambda", [_FUNCTIONS], "CreateAlias GetAlias UpdateAlias DeleteAlias")],
    "AWS::Logs::LogGroup": [
        Needs(
            "logs",
            ["arn:aws:logs:{region}:{account}:log-group:{stack}-*"],
            f"CreateLogGroup DeleteLogGroup PutRetentionPolicy DeleteRetentionPolicy ListTagsForResource {_TAGS}",
        ),
        Needs("logs", ["*"], "DescribeLogGroups"),
    ],
    "AWS::ApiGatewayV2::Api": [
        Needs(
            "apigateway",
            ["arn:aws:apigateway:{region}::/apis", "arn:aws:apigateway:{region}::/apis/*"],
            "GET POST PUT PATCH DELETE",
        ),
    ],
    "AWS::ApiGatewayV2::Stage": [
        Needs("apigateway", ["arn:aws:apigateway:{region}::/tags/*"], "GET POST PUT DELETE"),
        # API Gateway sets up the delivery of its access log in the name of its caller; IAM knows no narrower resource.
        Needs(
            "logs",
            ["*"],
            "CreateLogDelivery GetLogDelivery UpdateLogDelivery DeleteLogDelivery ListLogDeliveries "
            "DescribeResourcePolicies PutResourcePolicy",
        ),
    ],
    "AWS::Scheduler::Schedule": [
        Needs(
            "scheduler",
            ["arn:aws:scheduler:{region}:{account}:schedule/default/{stack}-*"],
            "CreateSchedule GetSchedule UpdateSchedule DeleteSchedule",
        ),
    ],
    "AWS::CloudWatch::Alarm": [
        Needs(
            "cloudwatch",
            ["arn:aws:cloudwatch:{region}:{account}:alarm:{stack}-*"],
            f"PutMetricAlarm DeleteAlarms DescribeAlarms ListTagsForResource {_TAGS}",
        ),
    ],
    "AWS::CloudWatch::Dashboard": [
        Needs(
            "cloudwatch",
            ["arn:aws:cloudwatch::{account}:dashboard/{stack}-{region}"],
            "PutDashboard GetDashboard DeleteDashboards",
        ),
    ],
    "AWS::SNS::Topic": [
        Needs(
            "sns",
            [_TOPICS],
            "CreateTopic DeleteTopic GetTopicAttributes SetTopicAttributes ListTagsForResource "
            f"GetDataProtectionPolicy ListSubscriptionsByTopic {_TAGS}",
        ),
    ],
    "AWS::SNS::Subscription": [
        Needs("sns", [_TOPICS], "Subscribe Unsubscribe GetSubscriptionAttributes SetSubscriptionAttributes"),
    ],
    "AWS::Budgets::Budget": [
        Needs(
            "budgets",
            ["arn:aws:budgets::{account}:budget/*"],
            f"ModifyBudget ViewBudget {_TAGS} ListTagsForResource",
        ),
    ],
}

ITSELF = (
    Needs(
        "cloudformation",
        ["arn:aws:cloudformation:{region}:{account}:stack/{stack}/*"],
        "CreateChangeSet DescribeChangeSet ExecuteChangeSet DeleteChangeSet ListChangeSets "
        f"DescribeStackEvents ListStackResources GetTemplate DeleteStack ContinueUpdateRollback {_TAGS}",
    ),
    # To find what a removed stack has left, and other stacks with the same secrets; IAM knows no narrower resource.
    Needs("cloudformation", ["*"], "ListStacks DescribeStacks"),
    Needs(
        "s3",
        ["arn:aws:s3:::{bucket}", _BUCKETS],
        "CreateBucket ListBucket DeleteBucket PutBucketPublicAccessBlock PutEncryptionConfiguration "
        "PutBucketOwnershipControls GetBucketTagging PutBucketTagging",
    ),
    Needs("s3", ["arn:aws:s3:::{bucket}/{stack}/*"], "GetObject PutObject DeleteObject"),
    # The first user and their token; `handoff data` and the program for users read and write both tables.
    Needs(
        "dynamodb",
        [_TABLES],
        "GetItem BatchGetItem Query Scan PutItem DeleteItem BatchWriteItem UpdateItem ConditionCheckItem",
    ),
    # Secrets of platforms and of the agent.
    Needs(
        "ssm",
        [_SECRETS, f"{_SECRETS}/*", f"{_SECRETS}-agent", f"{_SECRETS}-agent/*"],
        "GetParametersByPath PutParameter DeleteParameter AddTagsToResource ListTagsForResource",
    ),
)
"""The actions of the command itself."""


def policy(kinds: Iterable[str], *, stack: str, account: str, region: str, prefix: str) -> dict[str, Any]:
    """A policy for one stack in one account and region. Raises KeyError for a type that is not known here."""
    bucket = bucket_name(account, region)
    names = {
        "stack": stack,
        "account": account,
        "region": region,
        "prefix": prefix,
        "bucket": bucket,
        "lower": stack.lower(),
    }
    needs = (*ITSELF, *(need for kind in sorted(set(kinds)) for need in BY_TYPE[kind]))
    return {"Version": "2012-10-17", "Statement": _merged(need.statement(names) for need in needs)}


def _merged(statements: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """One statement for each set of resources, and for each of actions: one that is attached to several users is small."""
    return _together(_together(statements, "Resource", "Action"), "Action", "Resource")


def _together(statements: Iterable[dict[str, Any]], equal: str, joined: str) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for one in statements:
        same = found.setdefault(json.dumps([one[equal], one.get("Condition")]), {**one, joined: []})
        same[joined] += [entry for entry in one[joined] if entry not in same[joined]]
    return list(found.values())


def services(document: Mapping[str, Any]) -> dict[str, int]:
    """How many actions of each service a policy allows, for a summary."""
    counts: dict[str, int] = {}
    for statement in document["Statement"]:
        for action in statement["Action"]:
            service = action.partition(":")[0]
            counts[service] = counts.get(service, 0) + 1
    return counts
