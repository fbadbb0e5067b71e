"""Speeds up what moto does for every request.

For each one it lists all methods of the service's class, converts the action's name with regular expressions, adds CORS
headers and draws each character of the request id.
"""

from functools import cache
from typing import Any
from uuid import uuid4

from moto.core import responses
from moto.core.utils import camelcase_to_underscores
from moto.moto_server import werkzeug_app


def _request_id(headers: dict[str, Any]) -> str:
    headers["x-amzn-requestid"] = uuid4().hex
    return str(headers["x-amzn-requestid"])


def apply() -> None:
    werkzeug_app.DISABLE_GLOBAL_CORS = True
    responses.method_names_from_class = cache(responses.method_names_from_class)
    responses.camelcase_to_underscores = cache(camelcase_to_underscores)
    responses.gen_amzn_requestid_long = _request_id
