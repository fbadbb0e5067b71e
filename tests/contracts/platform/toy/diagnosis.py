"""Diagnosis of the toy: its bot, its webhook, and its home."""

from typing import TYPE_CHECKING

from shared.domain.routes import Place
from shared.platforms.diagnosis import Diagnosis

if TYPE_CHECKING:
    from tests.contracts.platform.toy.api import Api

CHAT = {"id": str, "title": str, "threads": bool, "people": [str], "private": bool, "member": bool}


class ToyDiagnosis(Diagnosis):
    """One bot."""

    api: "Api"
    signing = ("toy/webhook_secret",)
    bot_fix, home_fix = "Set the secret toy/bot_token.", "Let the bot in, or choose another chat."
    webhook = ""

    def check_bot(self) -> str:
        me = self.api.get("/me", {"name": str, "webhook": str}, seconds=self.left)
        self.webhook = me["webhook"]
        return f"{me['name']} answers."

    def check_webhook(self) -> None:
        self.address(self.webhook, certain=True, fix=f"Set the webhook to {self.asked.webhook_url}.")

    def check_home(self, home: Place) -> None:
        chat = self.api.get(f"/chats/{home.chat}", CHAT, seconds=self.left)
        if not chat["member"]:
            self.bad("home", f"The bot is not in {chat['title']}.", self.home_fix)
            return
        self.good("home", f"The bot is in {chat['title']}.")
        if chat["threads"]:
            self.good("thread", "The bot may open threads.")
        elif self.spec.threads:
            self.bad("thread", "This chat has no threads.", "Choose a room.")


class PlainToyDiagnosis(ToyDiagnosis):
    """The same with its own secrets."""

    signing = ("plaintoy/webhook_secret",)
    bot_fix = "Set the secret plaintoy/bot_token."
