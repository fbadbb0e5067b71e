"""What a look at a platform finds: in good days, and in bad ones."""

import time
from collections.abc import Sequence

import pytest

from shared.domain.routes import Place
from shared.ports.platforms import Finding
from tests.contracts.platform_contract_case import PlatformCase
from tests.contracts.platform_contract_stand import Stand, now

ENOUGH = 15.0


class Diagnoses(PlatformCase):
    """A look finds out what it can, changes nothing, raises nothing, and ends in time."""

    def look(self, at: Stand, home: Place | None, *, seconds: float = ENOUGH) -> Sequence[Finding]:
        webhook_url = f"{at.simulator.webhook_url}/webhooks/{self.name}"
        found = at.platform.diagnose(home, webhook_url=webhook_url, now=now(), seconds=seconds)
        assert all(finding.platform == self.name for finding in found)
        assert all(finding.fix for finding in found if not finding.ok), "what is not well comes with what to do"
        told = " ".join(f"{finding.detail} {finding.fix}" for finding in found)
        assert not [name for name, value in at.secrets.values.items() if value in told]
        return found

    def test_where_all_is_well_a_look_finds_no_fault(self, at: Stand, home: Place) -> None:
        found = {finding.name: finding.ok for finding in self.look(at, home)}

        assert {"bot", "secrets", "webhook", "home", "thread"} <= set(found)
        assert [name for name, ok in found.items() if ok is False] == []
        assert [found[name] for name in ("bot", "secrets", "home", "thread")] == [True] * 4

    def test_a_look_without_a_home_is_at_the_bot_alone(self, at: Stand) -> None:
        found = {finding.name for finding in self.look(at, None)}

        assert "bot" in found
        assert not found & {"home", "thread"}

    def test_a_look_changes_nothing(self, at: Stand, home: Place) -> None:
        before = at.simulator.state()

        self.look(at, home)

        assert at.simulator.state() == before

    def test_a_home_that_is_gone_is_found(self, at: Stand, home: Place) -> None:
        at.simulator.remove(at.name, home.chat)

        found = {finding.name: finding.ok for finding in self.look(at, home)}

        assert (found["bot"], found["home"]) == (True, False)
        assert "thread" not in found

    def test_a_token_that_is_not_good_is_found(self, at: Stand) -> None:
        at.secrets.values[f"{self.name}/bot_token"] = "1:not-the-token"

        (found,) = self.look(at, self.first_home)

        assert (found.name, found.ok) == ("bot", False)
        assert "token" in found.detail

    @pytest.mark.parametrize("kind", ["rate_limit", "reset", "server_error", "forbidden"])
    def test_a_platform_in_trouble_is_a_finding_and_no_error(self, at: Stand, kind: str) -> None:
        at.simulator.arm(at.name, kind, count=50, seconds=77, on="read")

        (found,) = self.look(at, self.first_home)

        assert (found.name, found.ok) == ("bot", None if kind == "rate_limit" else False)

    def test_trouble_on_the_way_leaves_what_was_found_before(self, at: Stand) -> None:
        bot, *_ = self.look(at, self.first_home)
        at.simulator.arm(at.name, "reset", count=50, on="read")
        (without_an_answer,) = self.look(at, self.first_home)
        at.simulator.arm(at.name, "reset", count=0)

        assert (bot.ok, without_an_answer.ok) == (True, False)
        assert self.look(at, self.first_home)[0] == bot

    def test_a_platform_that_does_not_answer_is_given_up_in_time(self, at: Stand) -> None:
        self.look(at, None)  # what is loaded once is loaded
        at.simulator.arm(at.name, "slow", count=50, seconds=20, on="read")
        began = time.monotonic()

        (found,) = self.look(at, self.first_home, seconds=0.5)

        assert (found.name, found.ok) == ("bot", False)
        assert time.monotonic() - began < 5

    def test_a_webhook_that_belongs_to_another_service_is_not_taken_for_ours(self, at: Stand) -> None:
        found = at.platform.diagnose(None, webhook_url="https://ours.example/elsewhere", now=now(), seconds=ENOUGH)

        assert next(finding.ok for finding in found if finding.name == "webhook") is not True
