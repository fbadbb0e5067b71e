"""Slack."""

from shared.platforms.spec import PlatformSpec

SPEC = PlatformSpec(
    name="slack",
    title="Slack",
    threads=True,
    adapter="shared.platforms.slack.adapter:Slack",
    secrets=("slack/bot_token", "slack/signing_secret"),
    api_url="https://slack.com/api/",
    link_url="https://slack.com/app_redirect",
    lazy_imports=("shared.platforms.slack.api",),
)
