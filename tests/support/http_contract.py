"""docs/openapi.json as a check: every response must be one that the document describes."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
from jsonschema import Draft202012Validator

from docs.openapi import FILE
from functions.http.problems import CODES, MEDIA_TYPE

DOCUMENT: dict[str, Any] = json.loads(FILE.read_text())


@dataclass(frozen=True)
class Operation:
    """One documented call."""

    id: str
    method: str
    path: str
    definition: dict[str, Any]

    @property
    def codes(self) -> list[str]:
        """The error codes that are documented for this call."""
        schemas = (
            response["content"][MEDIA_TYPE]["schema"]
            for response in self.definition["responses"].values()
            if MEDIA_TYPE in response.get("content", {})
        )
        return [code for schema in schemas for code in schema["properties"]["code"]["enum"]]

    def matches(self, request: httpx.Request) -> bool:
        pattern = re.sub(r"\{\w+\}", "[^/]+", self.path)
        return request.method.lower() == self.method and re.fullmatch(pattern, request.url.path) is not None


def operations() -> Iterator[Operation]:
    for path, methods in DOCUMENT["paths"].items():
        for method, definition in methods.items():
            yield Operation(definition["operationId"], method, path, definition)


OPERATIONS = {operation.id: operation for operation in operations()}


def check(response: httpx.Response) -> None:
    """Fail unless the document describes this response. An httpx event hook.

    Calls that are not documented are ignored: the gateway answers them, not a function.
    """
    response.read()
    request = response.request
    what = f"{request.method} {request.url.path} -> {response.status_code} {response.text[:300]}"
    operation = next((operation for operation in OPERATIONS.values() if operation.matches(request)), None)
    if operation is None:
        return
    described = operation.definition["responses"].get(str(response.status_code))
    assert described is not None, f"this status is not documented: {what}"
    if response.status_code < 400:
        _check_request(operation, request)
    if "content" not in described:
        assert response.content == b"", what
        return
    media_type = response.headers["content-type"]
    assert {media_type, "*/*"} & described["content"].keys(), f"this content type is not documented: {what}"
    if media_type not in described["content"]:
        return  # bytes of a file
    body = response.json()
    validate(body, described["content"][media_type]["schema"])
    if media_type == MEDIA_TYPE:
        assert body["status"] == response.status_code, what
        needed = set(CODES[body["code"]].extra) - {"errors"}  # `errors` is given where a field can be named
        assert needed <= set(body), what


def _check_request(operation: Operation, request: httpx.Request) -> None:
    """What the service accepts must be valid by the document, or clients that validate could not send it."""
    body = operation.definition.get("requestBody")
    if body and "content-length" in request.headers:  # a streamed body is gone
        validate(json.loads(request.content), body["content"]["application/json"]["schema"])


def validate(value: Any, schema: dict[str, Any]) -> None:
    Draft202012Validator({**schema, "components": DOCUMENT["components"]}).validate(value)
