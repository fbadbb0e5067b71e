"""The checks that `handoff doctor` shows for a platform."""

import time
from collections.abc import Sequence

import pytest

from shared.domain.routes import Place
from shared.ports.platforms import Finding
from tests.contracts.platform.case import PlatformTests
from tests.contracts.platform.harness import PlatformHarness, now

ENOUGH = 15.0


class Diagnosis(PlatformTests):
    """`diagnose` changes nothing, raises nothing, and ends in time."""

    def diagnose(self, at: PlatformHarness, home: Place | None, *, seconds: float = ENOUGH) -> Sequence[Finding]:
        found = at.platform.diagnose(home, webhook_url=at.webhook_url, now=now(), seconds=seconds)
        assert all(finding.platform == at.name for finding in found)
        assert all(finding.fix for finding in found if not finding.ok), "each problem must name a fix"
        texts = " ".join(f"{finding.detail} {finding.fix}" for finding in found)
        assert not [name for name, value in at.secrets.values.items() if value in texts]
        return found

    def test_a_working_platform_has_no_problems(self, at: PlatformHarness, home: Place) -> None:
        found = {finding.name: finding.ok for finding in self.diagnose(at, home)}

        at_home = ["home", "thread"] if self.chat.spec.threads else ["home"]
        assert {"bot", "secrets", "webhook", *at_home} <= set(found)
        assert [name for name, ok in found.items() if ok is False] == []
        assert all(found[name] for name in ("bot", "secrets", *at_home))

    def test_without_a_home_only_the_bot_is_checked(self, at: PlatformHarness) -> None:
        found = {finding.name for finding in self.diagnose(at, None)}

        assert "bot" in found
        assert not found & {"home", "thread"}

    def test_a_diagnosis_changes_nothing(self, at: PlatformHarness, home: Place) -> None:
        before = at.simulator.state()

        self.diagnose(at, home)

        assert at.simulator.state() == before

    def test_a_home_that_is_gone_is_reported(self, at: PlatformHarness, home: Place) -> None:
        if not self.chat.looks_up_chats:
            return
        at.simulator.remove(at.name, home.chat)

        found = {finding.name: finding.ok for finding in self.diagnose(at, home)}

        assert (found["bot"], found["home"]) == (True, False)
        assert "thread" not in found

    def test_a_home_that_the_bot_is_not_in_is_reported(self, at: PlatformHarness, home: Place) -> None:
        """Some platforms let a bot see chats that it is not in. A private chat is never without the bot."""
        if len(at.people_at(home)) == 1:
            return
        at.simulator.remove(at.name, home.chat, bot_only=True)

        found = {finding.name: finding.ok for finding in self.diagnose(at, home)}

        assert (found["bot"], found["home"]) == (True, False)
        assert "thread" not in found

    def test_a_wrong_token_is_reported(self, at: PlatformHarness) -> None:
        token, *_ = self.chat.spec.secrets
        at.secrets.values[token] = "1:not-the-token"

        (found,) = self.diagnose(at, self.first_home)

        assert (found.name, found.ok) == ("bot", False)
        assert ("token" if self.chat.has_token else token) in found.detail

    @pytest.mark.parametrize("kind", ["rate_limit", "reset", "server_error", "forbidden"])
    def test_a_failing_platform_is_reported(self, at: PlatformHarness, kind: str) -> None:
        at.arm(kind, count=50, seconds=77, on="read")

        (found,) = self.diagnose(at, self.first_home)

        assert (found.name, found.ok) == ("bot", None if kind == "rate_limit" else False)

    def test_a_diagnosis_after_a_failure_works_again(self, at: PlatformHarness) -> None:
        bot, *_ = self.diagnose(at, self.first_home)
        at.arm("reset", count=50, on="read")
        (without_an_answer,) = self.diagnose(at, self.first_home)
        at.arm("reset", count=0)

        assert (bot.ok, without_an_answer.ok) == (True, False)
        assert self.diagnose(at, self.first_home)[0] == bot

    def test_a_platform_that_does_not_answer_times_out(self, at: PlatformHarness) -> None:
        self.diagnose(at, None)  # imports the SDK
        at.arm("slow", count=50, seconds=20, on="read")
        began = time.monotonic()

        (found,) = self.diagnose(at, self.first_home, seconds=0.5)

        assert (found.name, found.ok) == ("bot", False)
        assert time.monotonic() - began < 5

    def test_a_webhook_of_another_service_is_not_accepted(self, at: PlatformHarness) -> None:
        found = at.platform.diagnose(None, webhook_url="https://ours.example/elsewhere", now=now(), seconds=ENOUGH)

        assert next(finding.ok for finding in found if finding.name == "webhook") is not True
