"""An agent's Markdown as parts."""

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.ports.platforms import Part
from shared.use_cases.turns.deliver import REPEAT_MARK
from tests.contracts.platform_contract_case import PlatformCase
from tests.contracts.platform_contract_stand import Stand, unconnected
from tests.shared.platforms.markdown.documents import documents, rubbish

quick = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.differing_executors],  # one contract, run by one class per platform
)


class Rendering(PlatformCase):
    """Pure, deterministic, within the limit, calling nobody."""

    @quick
    @given(markdown=st.one_of(documents, rubbish))
    def test_parts_are_within_the_limit_plain_data_and_the_same_each_time(self, markdown: str) -> None:
        platform = unconnected(self.name)

        parts = platform.render(markdown)

        can = platform.capabilities
        room = 0 if can.key or can.readback else len(REPEAT_MARK)

        assert all(0 < self.measure(part.text) <= platform.capabilities.limit - room for part in parts)
        assert all(part.text.strip() for part in parts)
        assert [Part(**json.loads(json.dumps({"text": p.text, "extra": dict(p.extra)}))) for p in parts] == parts
        assert platform.render(markdown) == parts
        assert bool(parts) == bool(markdown.strip())

    def test_an_agent_calls_nobody(self, call: str) -> None:
        [part] = unconnected(self.name).render(f"well, {call} and so on")

        assert call not in part.text
        assert "and so on" in part.text

    def test_broken_characters_do_not_break_a_reply(self, at: Stand) -> None:
        place = self.open(at, self.first_home)

        for part in at.platform.render("half an emoji: \ud83d, a nul: \x00, and on"):
            at.platform.send(place, part, key="a")
