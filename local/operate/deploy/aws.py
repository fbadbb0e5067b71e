"""The account: clients of one region, and who is signed in. The one place that chooses a profile and a region."""

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import boto3
from botocore.config import Config

from local.operate.deploy.problems import NO_REGION, Stopped

CONFIG = Config(connect_timeout=10, read_timeout=60, retries={"mode": "standard", "total_max_attempts": 5})
PARTITION = "aws"
"""Others (China, GovCloud) have other services and addresses; nothing here was made for them."""


@dataclass(frozen=True)
class Account:
    """Clients are made when they are first used; the first call is `identity`."""

    session: Any

    @classmethod
    def of(cls, *, profile: str | None, region: str | None) -> "Account":
        """The region is the given one, else AWS_REGION, AWS_DEFAULT_REGION, that of the profile, as for the AWS CLI.

        boto3 does not read AWS_REGION. Raises botocore's errors if the profile does not exist.
        """
        chosen = region or os.environ.get("AWS_REGION") or None
        return cls(boto3.session.Session(profile_name=profile or None, region_name=chosen))

    def client(self, service: str) -> Any:
        return self.session.client(service, config=CONFIG)

    @property
    def region(self) -> str:
        region: str | None = self.session.region_name
        if not region:
            raise Stopped(f"{NO_REGION} Nothing was done.")
        return region

    @cached_property
    def identity(self) -> tuple[str, str]:
        """The account's number, and the ARN of who is signed in."""
        found = self.client("sts").get_caller_identity()
        if found["Arn"].split(":")[1] != PARTITION:
            raise Stopped(
                f"{found['Arn']} is not in the usual partition of AWS, for which this was made. Nothing was done."
            )
        return found["Account"], found["Arn"]

    def line(self) -> str:
        """Where a command works, for the operator to see before anything is done. Raises Stopped without a region."""
        region = self.region
        number, who = self.identity
        other = os.environ.get("AWS_DEFAULT_REGION") or region
        passed_over = f" (AWS_DEFAULT_REGION is {other})" if other != region else ""
        return f"Account {number}, region {region}{passed_over}, as {who.rpartition(':')[2]}."

    @property
    def number(self) -> str:
        return self.identity[0]

    @cached_property
    def cloudformation(self) -> Any:
        return self.client("cloudformation")

    @cached_property
    def s3(self) -> Any:
        return self.client("s3")

    @cached_property
    def ssm(self) -> Any:
        return self.client("ssm")

    @cached_property
    def dynamodb(self) -> Any:
        return self.client("dynamodb")

    @cached_property
    def sqs(self) -> Any:
        return self.client("sqs")
