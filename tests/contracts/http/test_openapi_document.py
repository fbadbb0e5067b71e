"""docs/openapi.json agrees with the code and with the routes of the template."""

import re

from docs.openapi import FILE, rendered
from local.service import LocalService
from tests.support.http_contract import OPERATIONS


def test_the_document_is_up_to_date() -> None:
    assert FILE.read_text() == rendered(), "docs/openapi.json is stale: run `make openapi`"


def test_the_template_routes_what_is_documented(service: LocalService) -> None:
    def plain(path: str) -> str:
        return re.sub(r"\{.+?\}", "{}", path)

    called = [route for route in service.stack.routes if route.function != "WebhookFunction"]
    documented = {(operation.method.upper(), plain(operation.path)) for operation in OPERATIONS.values()}
    assert {(route.method, plain(route.path)) for route in called} == {
        call for call in documented if "/webhooks/" not in call[1]
    }
