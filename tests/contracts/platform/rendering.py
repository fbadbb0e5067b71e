"""An agent's Markdown as parts."""

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.ports.platforms import Part
from shared.use_cases.deliver import REPEAT_MARK
from tests.contracts.platform.case import PlatformTests
from tests.contracts.platform.harness import PlatformHarness, unconnected
from tests.shared.platforms.markdown.documents import documents, rubbish

quick = settings(
    max_examples=40,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.differing_executors],  # one contract, run by one class per platform
)


class Rendering(PlatformTests):
    """Pure, deterministic, within the limit, without notifying people."""

    @quick
    @given(markdown=st.one_of(documents, rubbish))
    def test_parts_are_plain_data_within_the_limit(self, markdown: str) -> None:
        platform = unconnected(self.chat)

        parts = platform.render(markdown)

        can = platform.capabilities
        room = 0 if can.key or can.readback else len(REPEAT_MARK)
        assert all(0 < can.length(part.text) <= can.limit - room for part in parts)
        assert all(part.text.strip() for part in parts)
        assert [Part(**json.loads(json.dumps({"text": p.text, "extra": dict(p.extra)}))) for p in parts] == parts
        assert platform.render(markdown) == parts
        assert bool(parts) == bool(markdown.strip())

    def test_long_parts_have_room_for_the_mark_of_a_repeat(self) -> None:
        texts = [
            "x" * 20_000,
            "🙂" * 9_000,
            "```\n" + "code\n" * 4_000 + "```",
            "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 900,
        ]
        platform = unconnected(self.chat)
        can = platform.capabilities
        mark = "" if can.key or can.readback else REPEAT_MARK

        parts = [part for text in texts for part in platform.render(text)]

        assert max(can.length(part.text + mark) for part in parts) <= can.limit
        assert len(parts) > len(texts)

    def test_a_reply_notifies_no_one(self, mention: str) -> None:
        [part] = unconnected(self.chat).render(f"well, {mention} and so on")

        assert mention not in part.text
        assert "and so on" in part.text

    def test_broken_characters_do_not_break_a_reply(self, at: PlatformHarness) -> None:
        place = self.open(at, self.first_home)

        for part in at.platform.render("half an emoji: \ud83d, a nul: \x00, and on"):
            at.platform.send(place, part, key="a")
