"""The environment variables of a function process: what Lambda sets, what the template sets, and nothing of ours."""

import os
import sys
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from local.cloud.invoke import REGION
from local.cloud.stack import FunctionConfig


class Credentials(Protocol):
    """Those of a role, as botocore has them."""

    access_key: str
    secret_key: str
    token: str | None


def of_function(
    config: FunctionConfig, *, endpoint: str, root: Path, path: str, credentials: Credentials
) -> dict[str, str]:
    """What all processes of a function find in their environment."""
    return {
        **config.environment,
        **_python(path),
        **_access(endpoint, credentials),
        "AWS_EXECUTION_ENV": f"AWS_Lambda_python{sys.version_info.major}.{sys.version_info.minor}",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(config.memory),
        "AWS_LAMBDA_FUNCTION_NAME": config.name,
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        # True here: functions are loaded before their events, and those with a use for that may know.
        "AWS_LAMBDA_INITIALIZATION_TYPE": "provisioned-concurrency",
        "AWS_LAMBDA_LOG_FORMAT": config.log_format,
        "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{config.name}",
        "LAMBDA_TASK_ROOT": str(root),
        "_HANDLER": config.handler,
    }


def of_process(*, api: str) -> dict[str, str]:
    """What one process finds besides; `api` is the address of its Runtime API."""
    return {
        "AWS_LAMBDA_LOG_STREAM_NAME": f"local/[$LATEST]{uuid4().hex}",
        "AWS_LAMBDA_RUNTIME_API": api,
    }


def _python(path: str) -> dict[str, str]:
    return {"PATH": path, "LANG": "C.UTF-8", "TZ": ":UTC"}


def _access(endpoint: str, credentials: Credentials) -> dict[str, str]:
    return {
        "AWS_ACCESS_KEY_ID": credentials.access_key,
        "AWS_SECRET_ACCESS_KEY": credentials.secret_key,
        "AWS_SESSION_TOKEN": credentials.token or "",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ENDPOINT_URL": endpoint,
        # A laptop has profiles in ~/.aws that no Lambda has: a function must not find them.
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }
