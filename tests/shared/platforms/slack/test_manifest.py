"""The manifest of a Slack app: what the docs show, and what the link opens."""

import json
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from samtranslator.yaml_helper import yaml_parse

from local.chats.slack import SCOPES as SIMULATED
from shared.platforms.slack.manifest import SCOPES, manifest, new_app_url

PAGE = Path(__file__).parents[4] / "docs" / "platforms" / "slack.md"


def test_the_docs_show_the_manifest() -> None:
    found = re.search(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found
    assert yaml_parse(found[1]) == manifest()


def test_the_link_holds_the_manifest() -> None:
    address = "https://service.test/webhooks/slack"
    (given,) = parse_qs(urlsplit(new_app_url(address)).query)["manifest_json"]
    assert json.loads(given) == manifest(address)
    assert given.count(address) == 4
    assert "request_url" not in json.dumps(manifest())


def test_the_simulated_app_has_the_scopes_of_the_manifest() -> None:
    assert set(SIMULATED) == set(SCOPES)
