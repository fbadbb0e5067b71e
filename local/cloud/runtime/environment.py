"""The environment variables of a function process: those that Lambda and the template set, and no others."""

import os
import sys
from pathlib import Path
from uuid import uuid4

from botocore.credentials import Credentials

from local.cloud.stack import REGION, FunctionConfig


def of_function(
    config: FunctionConfig, *, endpoint: str, root: Path, path: str, credentials: Credentials
) -> dict[str, str]:
    """Return the variables that all processes of a function share."""
    return {
        **config.environment,
        "PATH": path,
        "LANG": "C.UTF-8",
        "TZ": ":UTC",
        "AWS_ACCESS_KEY_ID": credentials.access_key,
        "AWS_SECRET_ACCESS_KEY": credentials.secret_key,
        "AWS_SESSION_TOKEN": credentials.token or "",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ENDPOINT_URL": endpoint,
        # Functions must not find the profiles in ~/.aws of this machine.
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EXECUTION_ENV": f"AWS_Lambda_python{sys.version_info.major}.{sys.version_info.minor}",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(config.memory),
        "AWS_LAMBDA_FUNCTION_NAME": config.name,
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        # Functions are loaded before their first event, so they may import at start what they would otherwise delay.
        "AWS_LAMBDA_INITIALIZATION_TYPE": "provisioned-concurrency",
        "AWS_LAMBDA_LOG_FORMAT": config.log_format,
        "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{config.name}",
        "LAMBDA_TASK_ROOT": str(root),
        "_HANDLER": config.handler,
    }


def of_process(*, api: str) -> dict[str, str]:
    """Return the variables of one process; `api` is the address of its Runtime API."""
    return {
        "AWS_LAMBDA_LOG_STREAM_NAME": f"local/[$LATEST]{uuid4().hex}",
        "AWS_LAMBDA_RUNTIME_API": api,
    }
