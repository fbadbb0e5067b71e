"""What wakes functions: a table's stream, a queue, a schedule, HTTP. Each behaves as Lambda's own event source does."""

from local.cloud.sources.http_api import HttpApi
from local.cloud.sources.queue import QueueSource
from local.cloud.sources.schedule import ScheduleSource
from local.cloud.sources.stream import StreamSource

__all__ = ["HttpApi", "QueueSource", "ScheduleSource", "StreamSource"]
