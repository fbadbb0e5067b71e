"""What wakes functions: a table's stream, a queue, a schedule, HTTP. Each behaves as Lambda's own event source does."""

from local.sources.http_api import HttpApi
from local.sources.queue import QueueSource
from local.sources.schedule import ScheduleSource
from local.sources.stream import StreamSource

__all__ = ["HttpApi", "QueueSource", "ScheduleSource", "StreamSource"]
