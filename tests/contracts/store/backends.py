"""A DynamoDB to run the store on."""

from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from botocore.config import Config

from tests.support import dynamodb_servers

INSTALLED = [name for name in dynamodb_servers.SERVERS if dynamodb_servers.is_installed(name)]
OTHER_MAKES = [pytest.param(name, marks=pytest.mark.npm) for name in INSTALLED or ["dynoxide"]]
ITEM_OF_A_REFUSED_WRITE = "the item of a refused single write is shown (2023)"
LARGE_TRANSACTIONS = "transactions of a hundred writes (2022)"
AGED = {"amazon": (ITEM_OF_A_REFUSED_WRITE, LARGE_TRANSACTIONS)}  # npm has a DynamoDB Local of early 2020


@dataclass(frozen=True)
class Backend:
    """One DynamoDB: its name, its address, and a client for it."""

    name: str
    url: str
    client: Any

    def needs(self, feature: str) -> None:
        """Skip a test on a server that is older than what DynamoDB has had since."""
        if feature in AGED.get(self.name, ()):
            pytest.skip(f"the {self.name} DynamoDB at hand is older than: {feature}")

    def other_client(self, **config: Any) -> Any:
        """A client of its own, for tests that hook into it; retries as told, no waiting between them."""
        return client_of(self.url, **config)


def client_of(url: str, **config: Any) -> Any:
    settings: dict[str, Any] = {
        "retries": {"max_attempts": 0},
        "max_pool_connections": 64,
        "parameter_validation": False,
        **config,
    }
    return boto3.session.Session().client(
        "dynamodb",
        region_name="us-east-1",
        endpoint_url=url,
        aws_access_key_id="local",
        aws_secret_access_key="local",
        config=Config(**settings),
    )
