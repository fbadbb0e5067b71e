"""Event sources: streams, queues, schedules and HTTP requests that invoke functions, as on AWS."""
