"""One awslambdaric process with its environment variables, its Runtime API, its output and its exit."""

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

from botocore.credentials import Credentials

from local.cloud.runtime.api import Runtime, RuntimeApi
from local.cloud.runtime.fork_server import ForkServer, read_lines
from local.cloud.stack import REGION, FunctionConfig


class FunctionProcess:
    """Starts at once. `on_line` receives each line of output; `on_exit` is called once, with the exit status."""

    def __init__(
        self,
        fork_server: ForkServer,
        runtime: Runtime,
        *,
        group: int,
        init_seconds: float,
        on_line: Callable[[str], None],
        on_exit: Callable[[int], None],
    ) -> None:
        self._fork_server = fork_server
        self._on_exit = on_exit
        self._status = 0
        self._dead = threading.Event()
        output, theirs = os.pipe()
        self._api = RuntimeApi(runtime)
        try:
            environment = {
                "AWS_LAMBDA_LOG_STREAM_NAME": f"local/[$LATEST]{uuid4().hex}",
                "AWS_LAMBDA_RUNTIME_API": self._api.address,
            }
            self.pid = fork_server.spawn(
                environment, group=group, output=theirs, on_exit=self._died, seconds=init_seconds
            )
        except BaseException:
            self._api.close()
            os.close(output)
            raise
        finally:
            os.close(theirs)
        read_lines(os.fdopen(output, "rb"), on_line, name=f"log {self.pid}")
        self._reaper = threading.Thread(target=self._reap, name=f"reap {self.pid}", daemon=True)
        self._reaper.start()

    def kill(self) -> None:
        """Send SIGKILL; `on_exit` follows. Does nothing if the process has exited."""
        self._fork_server.kill(self.pid)

    def wait_dead(self, seconds: float) -> bool:
        """Wait until the process has exited; `on_exit` may not have been called yet."""
        return self._dead.wait(seconds)

    def join(self, seconds: float) -> None:
        """Wait until the process has exited and `on_exit` has returned."""
        self._reaper.join(seconds)

    def _died(self, status: int) -> None:
        self._status = status
        self._dead.set()

    def _reap(self) -> None:
        self._dead.wait()
        self._api.close()
        self._on_exit(self._status)


def environment_of(
    config: FunctionConfig, *, endpoint: str, root: Path, path: str, credentials: Credentials
) -> dict[str, str]:
    """Return the variables that all processes of a function share: those of Lambda and of the template, and no others."""
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
