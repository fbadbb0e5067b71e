"""Diagnosis of a Slack app: its token, its scopes, and its home. Slack does not reveal the webhook."""

from typing import TYPE_CHECKING

from shared.domain.routes import Place
from shared.errors import PlaceGone
from shared.platforms.diagnosis import Diagnosis
from shared.platforms.slack import SPEC

if TYPE_CHECKING:
    from shared.platforms.slack.api import Api

# Handoffs and replies need these scopes; the others of the manifest are optional.
_POST = "chat:write"
_READ = ("channels:history", "groups:history", "im:history", "channels:read", "groups:read", "im:read", "mpim:read")
_FILES = {"files:read": "read files", "files:write": "post files"}
_NEW_TOKEN = "Install the app again, then: handoff setup slack"  # noqa: S105  # advice
_OTHER_HOME = "Invite the bot there with /invite, or make your direct messages with it your home: handoff link slack"
_ADD_SCOPES = "Add them under OAuth & Permissions in the app's settings, then install the app again."


class SlackDiagnosis(Diagnosis):
    """One app in one workspace."""

    api: "Api"
    signing = ("slack/signing_secret",)
    bot_fix, home_fix = _NEW_TOKEN, _OTHER_HOME
    scopes: frozenset[str] | None = None

    def check_bot(self) -> str:
        who, self.scopes = self.api.who(seconds=self.left)
        return f"@{who.get('user')} answers in the workspace {who.get('team')}."

    def check_webhook(self) -> None:
        pages = "Event Subscriptions and, for buttons, Interactivity & Shortcuts"
        fix = (
            f"In the app's settings, {pages} must name {self.asked.webhook_url}; or Socket Mode is on and a relay runs."
        )
        self.unsure("webhook", "Slack does not tell an app where it posts to.", fix)
        self._check_scopes()

    def check_home(self, home: Place) -> None:
        chat = home.chat
        try:
            channel = self.api.direct_if_open(chat, seconds=self.left) if SPEC.is_person_id(chat) else chat
        except PlaceGone:
            self.unsure("home", "There are no direct messages with you yet.", "The first handoff opens them.")
            return
        self.api.peek(channel, seconds=self.left)
        self.good("home", f"The bot is in {channel}.")
        if self.scopes is not None and _POST not in self.scopes:
            self.bad("thread", "The bot may not post at home.", _ADD_SCOPES)
        else:
            self.good("thread", "The bot may post at home and start threads there.")

    def _check_scopes(self) -> None:
        home, scopes = self.asked.home, self.scopes
        if scopes is None:
            self.unsure("scopes", "Slack did not say which scopes the token has.", "Try again in a minute.")
            return
        needed = [_POST, *_READ, *(["im:write"] if home and SPEC.is_person_id(home.chat) else [])]
        if lacking := [scope for scope in needed if scope not in scopes]:
            self.bad("scopes", f"The token lacks {', '.join(lacking)}.", _ADD_SCOPES)
        else:
            self.good("scopes", "The token has the scopes to post and to read.")
        if lacking := [scope for scope in _FILES if scope not in scopes]:
            cannot = " and ".join(_FILES[scope] for scope in lacking)
            self.bad("files", f"The app may not {cannot}: the token lacks {', '.join(lacking)}.", _ADD_SCOPES)
        else:
            self.good("files", "The app may read and post files.")
