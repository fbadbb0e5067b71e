"""What Converse's answer means: a reply, another try, or clear words on why not."""

import re
from collections.abc import Mapping
from typing import Any

from shared.agents.answers import Stop, brief, reply_text
from shared.agents.attempts import Busy, TooLong, ToolsRefused, seconds_to_wait
from shared.aws.bedrock import ConverseFailed
from shared.errors import AgentFailed

STOPS: dict[str, Stop] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "guardrail_intervened": "filter",
    "content_filtered": "filter",
}
TROUBLE = "Amazon Bedrock has trouble of its own right now."
BUSY = {
    "Unreachable": "Amazon Bedrock cannot be reached, or did not answer in time.",
    "ThrottlingException": "Amazon Bedrock is over its rate limit.",
    "ModelNotReadyException": "The model is still being made ready.",
    "ModelTimeoutException": "The model took too long.",
    "ModelErrorException": "The model stumbled over the request.",
}
NOT_ALLOWED = (
    "This service may not use the model. Whoever runs it grants bedrock:InvokeModel to the turn function, "
    "and asks for access to the model in Amazon Bedrock."
)
UNKNOWN_MODEL = "Amazon Bedrock knows no such model here. Whoever runs this service checks HANDOFF_AGENT_MODEL."
FAILED = {
    "AccessDeniedException": NOT_ALLOWED,
    "UnrecognizedClientException": NOT_ALLOWED,
    "ResourceNotFoundException": UNKNOWN_MODEL,
    "ServiceQuotaExceededException": "The account's quota for this model is used up. Whoever runs this service asks for more.",
    "NoRegion": "No AWS region is set. Whoever runs this service sets AWS_REGION.",
}
WANTED_TOOL = "The model only wanted to call a tool, and there is none here. Ask it to answer in words."
_TOO_LONG = re.compile(r"too long|context (length|window)|too many (input )?tokens|maximum.{0,40}tokens", re.IGNORECASE)
_NO_MODEL = re.compile(r"model identifier is invalid|on-demand throughput isn.t supported", re.IGNORECASE)


def spoken(answer: Mapping[str, Any]) -> str:
    """The reply in an answer. Raises ToolsRefused, EmptyAnswer or AgentFailed."""
    blocks = answer.get("output", {}).get("message", {}).get("content", [])
    text = "".join(block.get("text", "") for block in blocks)
    reason = str(answer.get("stopReason"))
    if not text.strip() and reason in ("tool_use", "malformed_tool_use"):
        raise ToolsRefused(WANTED_TOOL)
    return reply_text(text, STOPS.get(reason, "done"))


def refuse(error: ConverseFailed, *, now: int) -> Exception:
    """What a failed call is to be raised as: a signal of attempts.py, or AgentFailed."""
    if error.code in FAILED:
        return AgentFailed(FAILED[error.code])
    if error.code in BUSY or error.status == 429 or error.status >= 500:
        return Busy(BUSY.get(error.code, TROUBLE), seconds_to_wait(error.headers, now=now))
    if _NO_MODEL.search(error.words):
        return AgentFailed(UNKNOWN_MODEL)
    if _TOO_LONG.search(error.words):
        return TooLong()
    if error.code == "ValidationException":
        return ToolsRefused(f"Amazon Bedrock refused the request: {brief(error.words)}")
    return AgentFailed(
        f"Amazon Bedrock refused this service ({error.code}). Whoever runs it checks its role and model."
    )
