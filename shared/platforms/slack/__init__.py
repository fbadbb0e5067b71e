"""Slack."""

from shared.platforms.spec import PlatformSpec

SPEC = PlatformSpec(
    name="slack",
    title="Slack",
    threads=True,
    adapter="shared.platforms.slack.adapter:Slack",
    set_up="shared.platforms.slack.set_up:SlackSetUp",
    secrets=("slack/bot_token", "slack/signing_secret"),
    # The id of a person is the direct messages with them.
    chat_id=r"[CDGUW][A-Z0-9]{2,20}",
    person_id=r"[UW][A-Z0-9]{2,20}",
    api_url="https://slack.com/api/",
    link_url="https://slack.com/app_redirect",
    lazy_imports=("shared.platforms.slack.api",),
)
