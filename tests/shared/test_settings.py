"""Settings from the environment."""

import pytest

from shared.platforms.telegram import SPEC
from shared.settings import Settings

TABLES = {"HANDOFFS_TABLE": "handoffs", "SESSIONS_TABLE": "sessions"}


def test_platform_urls_override_single_addresses() -> None:
    given = Settings.from_environment({**TABLES, "PLATFORM_URLS": '{"telegram": {"api": "http://127.0.0.1:1/bot"}}'})

    urls = SPEC.urls(given.platform_urls)

    assert (urls.api, urls.link) == ("http://127.0.0.1:1/bot", SPEC.link_url)


@pytest.mark.parametrize("text", ["", "{}", '{"slack": {"api": "http://127.0.0.1:1/"}}'])
def test_other_platforms_keep_their_public_addresses(text: str) -> None:
    settings = Settings.from_environment({**TABLES, "PLATFORM_URLS": text})

    assert SPEC.urls(settings.platform_urls).api == SPEC.api_url


@pytest.mark.parametrize("text", ["no JSON", "[]", '{"slack": "http://x"}', '{"slack": {"url": "http://x"}}'])
def test_unreadable_platform_urls_are_an_error_at_start(text: str) -> None:
    with pytest.raises(ValueError, match="PLATFORM_URLS must be JSON"):
        Settings.from_environment({**TABLES, "PLATFORM_URLS": text})
