"""Process several handoffs at once."""

import logging
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor

from shared.services import Services
from shared.use_cases.handoffs.process_handoff import process_handoff

log = logging.getLogger(__name__)


def process_batch(services: Services, handoff_ids: Collection[str]) -> set[str]:
    """Process each handoff in a thread; returns the ids of those that failed unexpectedly and must be tried again."""

    def process(handoff_id: str) -> bool:
        try:
            process_handoff(services, handoff_id)
        except Exception:  # one failure must not affect the other handoffs
            log.exception("handoff %s: an attempt failed unexpectedly", handoff_id)
            return False
        return True

    with ThreadPoolExecutor(max(1, len(handoff_ids)), thread_name_prefix="handoff") as threads:
        done = list(threads.map(process, handoff_ids))
    return {handoff_id for handoff_id, is_done in zip(handoff_ids, done, strict=True) if not is_done}
