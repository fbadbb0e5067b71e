"""Speeds up what moto does for every request, and lets it forget what is gone.

For each request it lists all methods of the service's class, converts the action's name with regular expressions, adds
CORS headers and draws each character of the request id.
"""

# ruff: noqa: SLF001 - patches the internals of moto

from functools import cache
from typing import Any
from uuid import uuid4

from moto.core import responses
from moto.core.common_models import BaseModel
from moto.core.serialize import BaseJSONSerializer
from moto.core.utils import camelcase_to_underscores
from moto.moto_server import werkzeug_app

_IN_WIRE_FORMAT = frozenset({"S", "N", "BOOL", "NULL", "SS", "NS"})


def apply() -> None:
    werkzeug_app.DISABLE_GLOBAL_CORS = True
    responses.method_names_from_class = cache(responses.method_names_from_class)
    responses.camelcase_to_underscores = cache(camelcase_to_underscores)
    responses.gen_amzn_requestid_long = _request_id
    _pass_plain_values()
    BaseModel.__new__ = _unlisted


def _request_id(headers: dict[str, Any]) -> str:
    headers["x-amzn-requestid"] = uuid4().hex
    return str(headers["x-amzn-requestid"])


def _pass_plain_values() -> None:
    """Return DynamoDB's attribute values unchanged that are already in wire format.

    moto looks up each type of value under every name that a Python object might have for it: over a hundred lookups for
    one string, a third of all CPU time of the local cloud.
    """
    general = BaseJSONSerializer._serialize_type_structure

    def structure(self: BaseJSONSerializer, serialized: Any, value: Any, shape: Any, key: str) -> None:
        if shape.name == "AttributeValue" and isinstance(value, dict) and _is_plain(value):
            serialized[key] = value
        else:
            general(self, serialized, value, shape, key)

    BaseJSONSerializer._serialize_type_structure = structure


def _is_plain(value: dict[str, Any]) -> bool:
    """Whether the value is in wire format throughout; bytes are not."""
    if len(value) != 1:
        return False
    [(kind, content)] = value.items()
    if kind == "M":
        return all(map(_is_plain, content.values()))
    if kind == "L":
        return all(map(_is_plain, content))
    return kind in _IN_WIRE_FORMAT


def _unlisted(cls: type[BaseModel], *_: Any, **__: Any) -> BaseModel:
    """Make a model without listing it, as moto does for a dashboard that is not used here.

    A service that runs for long would keep each version of each item, and stop for seconds whenever Python looks for
    garbage among them.
    """
    return object.__new__(cls)
