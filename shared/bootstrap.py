"""The composition root: settings → services, once per container."""

import functools
import logging
import os
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from shared.agents.measured import MeasuredAgent
from shared.agents.registry import build_agent, summary
from shared.aws.clients import LazyClient
from shared.aws.files import S3Files
from shared.aws.metrics import EmbeddedMetrics
from shared.aws.queue import SqsDeadTurns, SqsRunQueue, SqsTurnQueue, SqsVisibility
from shared.aws.secrets import SsmSecrets
from shared.aws.tables import DynamoTables
from shared.clock import SystemClock
from shared.log_redaction import redact_exception
from shared.platforms import PLATFORMS
from shared.platforms.registry import PlatformRegistry, load_adapters
from shared.platforms.spec import PlatformSpec
from shared.ports.agents import Agent
from shared.ports.clock import Clock
from shared.ports.metrics import Metrics, NoMetrics
from shared.services import Services
from shared.settings import Settings, is_loaded_ahead
from shared.store.bundle import store_on
from shared.voice import server_of
from shared.voice import summary as voice_summary

Handler = Callable[[Any, Any], Any]
Client = Callable[[str], Any]


def build_services(
    settings: Settings,
    *,
    client: Client = LazyClient,
    clock: Clock | None = None,
    platforms: Sequence[PlatformSpec] = PLATFORMS,
) -> Services:
    """The services on AWS. `client` makes boto3 clients by service name, by default lazily."""
    clock = clock or SystemClock()
    metrics: Metrics = EmbeddedMetrics(settings.metrics_stack, clock) if settings.metrics_stack else NoMetrics()
    sqs = client("sqs")
    tables = DynamoTables(client("dynamodb"), handoffs=settings.handoffs_table, sessions=settings.sessions_table)
    secrets = SsmSecrets(client("ssm"), settings.secrets_prefix)

    transcriber = server_of(settings, secrets)

    @functools.cache
    def agent() -> Agent:
        return MeasuredAgent(build_agent(settings, secrets, clock), clock, metrics)

    return Services(
        settings=settings,
        clock=clock,
        store=store_on(tables, settings.limits, metrics),
        queue=SqsTurnQueue(sqs, settings.turns_queue_url),
        visibility=lambda receipt_handle: SqsVisibility(sqs, settings.turns_queue_url, receipt_handle),
        dead_turns=SqsDeadTurns(sqs, settings.dead_turns_queue_url),
        runs=SqsRunQueue(sqs, settings.runs_queue_url),
        platforms=PlatformRegistry(settings, secrets, [spec.on_aws(settings.platform_urls) for spec in platforms]),
        files=S3Files(client("s3"), settings.files_bucket),
        transcriber=transcriber,
        voice_summary=voice_summary(transcriber, settings),
        agent=agent,
        agent_summary=summary(settings),
        new_id=lambda: uuid.uuid4().hex,
        metrics=metrics,
    )


def on_lambda(build: Callable[[Services], Handler], *, clients: Sequence[str] = (), platforms: bool = False) -> Handler:
    """A Lambda handler that builds itself from the environment on its first event and is then reused.

    In containers that Lambda initialises before events arrive (provisioned concurrency) it is built at import, together
    with the boto3 clients named in `clients` and, if the function calls `platforms`, their SDKs.
    """
    made = {service: LazyClient(service) for service in ("dynamodb", "s3", "sqs", "ssm")}

    @functools.cache
    def settings() -> Settings:
        return Settings.from_environment(os.environ)

    @functools.cache
    def built() -> Handler:
        return build(build_services(settings(), client=made.__getitem__))

    @functools.cache
    def configure_logging() -> None:
        _configure_logging(settings().log_level)

    def handler(event: Any, context: Any) -> Any:
        configure_logging()
        return built()(event, context)

    if is_loaded_ahead(os.environ):
        for service in clients:
            made[service].load()
        if platforms:
            load_adapters()
        built()
    return handler


def _configure_logging(level: str) -> None:
    logging.getLogger().setLevel(level)
    for verbose in ("httpx", "httpcore", "botocore", "urllib3", "mangum"):
        logging.getLogger(verbose).setLevel(logging.WARNING)  # httpx logs URLs at INFO, and a URL may contain a token
    for handler in logging.getLogger().handlers:
        handler.addFilter(redact_exception)
