"""Lambda's runtime on a laptop: each function in awslambdaric processes of its own, driven through the Runtime API."""

from local.cloud.runtime.invoker import RuntimeInvoker

__all__ = ["RuntimeInvoker"]
