"""A DynamoDB to run the store on."""

from dataclasses import dataclass
from typing import Any

import boto3
from botocore.config import Config


@dataclass(frozen=True)
class Backend:
    """One DynamoDB: its name, its address, and a client for it."""

    name: str
    url: str
    client: Any

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
