"""Read the answer of Bedrock's Converse: a reply, a retry, or an error that explains itself."""

import re
from collections.abc import Mapping
from typing import Any

from shared.agents.answers import WANTED_TOOL, Stop, brief, reply_text
from shared.agents.attempts import ProviderBusy, TooLong, ToolsRefused, seconds_to_wait
from shared.aws.bedrock import ConverseFailed
from shared.errors import AgentFailed

STOPS: dict[str, Stop] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "guardrail_intervened": "filter",
    "content_filtered": "filter",
}
TROUBLE = "Amazon Bedrock has an internal error."
UNREADABLE = "Amazon Bedrock's answer could not be read."
BUSY = {
    "Unreachable": "Amazon Bedrock cannot be reached, or did not answer in time.",
    "ThrottlingException": "Amazon Bedrock is over its rate limit.",
    "ModelNotReadyException": "The model is still starting.",
    "ModelTimeoutException": "The model took too long.",
    "ModelErrorException": "The model failed on the request.",
}
NOT_ALLOWED = (
    "This service may not use the model. The operator must grant bedrock:InvokeModel to the agent function "
    "and request access to the model in Amazon Bedrock."
)
UNKNOWN_MODEL = "Amazon Bedrock has no such model in this region. The operator must check HANDOFF_AGENT_MODEL."
FAILED = {
    "AccessDeniedException": NOT_ALLOWED,
    "UnrecognizedClientException": NOT_ALLOWED,
    "ResourceNotFoundException": UNKNOWN_MODEL,
    "ServiceQuotaExceededException": "The account's quota for this model is used up. The operator must request more.",
    "NoRegion": "No AWS region is set. The operator must set AWS_REGION.",
}
_TOO_LONG = re.compile(r"too long|context (length|window)|too many (input )?tokens|maximum.{0,40}tokens", re.IGNORECASE)
_STREAM = re.compile(r"stream", re.IGNORECASE)
_NO_MODEL = re.compile(r"model identifier is invalid|on-demand throughput isn.t supported", re.IGNORECASE)


def read_answer(answer: Mapping[str, Any]) -> str:
    """The reply. Raises the exceptions of attempts.py or AgentFailed."""
    try:
        text = "".join(block.get("text", "") for block in answer["output"]["message"]["content"])
    except (LookupError, TypeError, AttributeError) as error:
        raise ProviderBusy(UNREADABLE) from error
    reason = str(answer.get("stopReason"))
    if not text.strip() and reason in ("tool_use", "malformed_tool_use"):
        raise ToolsRefused(WANTED_TOOL)
    return reply_text(text, STOPS.get(reason, "done"))


def refuses_to_stream(error: ConverseFailed) -> bool:
    """Whether the model cannot stream, or this service may not call `InvokeModelWithResponseStream`."""
    return error.code in ("ValidationException", "AccessDeniedException") and bool(_STREAM.search(error.message))


def error_of(error: ConverseFailed, *, now: int) -> Exception:
    """The exception to raise for a failed call: one of attempts.py, or AgentFailed."""
    if error.code in FAILED:
        return AgentFailed(FAILED[error.code])
    if error.code in BUSY or error.status == 429 or error.status >= 500:
        return ProviderBusy(BUSY.get(error.code, TROUBLE), seconds_to_wait(error.headers, now=now))
    if _NO_MODEL.search(error.message):
        return AgentFailed(UNKNOWN_MODEL)
    if _TOO_LONG.search(error.message):
        return TooLong()
    if error.code == "ValidationException":
        return ToolsRefused(f"Amazon Bedrock rejected the request: {brief(error.message)}")
    return AgentFailed(
        f"Amazon Bedrock rejected this service ({error.code}). The operator must check its role and model."
    )
