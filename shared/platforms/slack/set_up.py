"""Set up a Slack app: from a manifest, over Socket Mode or with request URLs."""

import json
from collections.abc import Sequence

from shared.errors import Rejected
from shared.platforms.set_up import CALL_SECONDS, AskedSecret, Checked, Secrets, SetUp, Way
from shared.platforms.slack.api import Api
from shared.platforms.slack.manifest import SCOPES, manifest, new_app_url

TOKEN, APP_TOKEN, SIGNING = "slack/bot_token", "slack/app_token", "slack/signing_secret"  # names


class SlackSetUp(SetUp):
    """One app in one workspace."""

    def steps(self, way: Way) -> Sequence[str]:
        written = json.dumps(manifest(way.webhook_url), indent=2)
        socket = [
            "On Basic Information, App-Level Tokens: generate one with the scope connections:write, and copy it (xapp-…)."
        ]
        request_url = ["On Basic Information, App Credentials: copy the Signing Secret."]
        create = f"Open this link, choose your workspace, and create the app:\n{new_app_url(way.webhook_url)}"
        return [
            f"{create}\nIf the page comes empty, choose From a manifest, JSON, and paste:\n{written}",
            "On Install App: install it to the workspace, and copy the Bot User OAuth Token (xoxb-…).",
            *(socket if way.uses_relay else request_url),
        ]

    def asked(self, way: Way) -> Sequence[AskedSecret]:
        bot = AskedSecret(TOKEN, "Bot User OAuth Token", r"xoxb-[A-Za-z0-9-]{8,200}", "xoxb-…")
        app = AskedSecret(APP_TOKEN, "App-level token", r"xapp-[A-Za-z0-9-]{8,300}", "xapp-…")
        signing = AskedSecret(SIGNING, "Signing Secret", r"[0-9a-f]{32}", "32 digits and letters a to f")
        return [bot, app] if way.uses_relay else [bot, signing]

    def check(self, name: str, secrets: Secrets, way: Way) -> Checked:
        if name == APP_TOKEN:
            Api(way.api_url, secrets[name]).open_connection(seconds=CALL_SECONDS)
            return Checked("Socket Mode works.")
        if name == SIGNING:  # shows only when Slack posts something
            return Checked()
        who, scopes = Api(way.api_url, secrets[name]).who(seconds=CALL_SECONDS)
        if lacking := [scope for scope in SCOPES if scopes is not None and scope not in scopes]:
            raise Rejected(
                f"The app lacks the scopes {', '.join(lacking)}. Add them on OAuth & Permissions, install it again, and copy "
                "the token again"
            )
        return Checked(f"Your bot is @{who.get('user')} in the workspace {who.get('team')}.")

    def connect(self, secrets: Secrets, way: Way) -> Sequence[str]:  # noqa: ARG002  # the manifest has named the address
        if way.uses_relay:
            return ()
        return [
            "Slack checks its request URLs once: on Event Subscriptions, press Retry beside the URL if it is not verified."
        ]
