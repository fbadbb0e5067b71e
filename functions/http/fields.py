"""Field types that requests and responses share."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StringConstraints, WithJsonSchema

from shared.domain.messages import ROLES, whole

ID = r"^[A-Za-z0-9_-]{1,64}$"
MAX_KEY = 255
"""Characters of an Idempotency-Key."""
Id = Annotated[str, StringConstraints(pattern=ID)]
WHOLE = BeforeValidator(lambda value: whole(value) if isinstance(value, str) else value)
"""Marks text for people, in which half of a surrogate pair is replaced. Stands last, to run before the constraints."""
Count = Annotated[int, Field(ge=0, le=2**53)]
Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Message = Annotated[
    dict[str, Any],
    WithJsonSchema(
        {
            "type": "object",
            "description": "At most 256 KiB of JSON. Unknown keys are stored and returned unchanged.",
            "required": ["role"],
            "properties": {
                "role": {"enum": list(ROLES)},
                "content": {"type": ["string", "array", "null"]},
                "tool_calls": {"type": ["array", "null"]},
                "tool_call_id": {"type": ["string", "null"]},
            },
            "additionalProperties": True,
        }
    ),
]
"""A message of a transcript. Its rules are those of `shared.domain.messages.problem_with`, checked after parsing."""
