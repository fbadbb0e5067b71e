"""The list of faults fits the product; whether tests notice them is what `make mutants` shows."""

from pathlib import Path

import pytest

from tests.mutants.faults import FAULTS, Fault, NotApplicable

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_applies_and_is_python(fault: Fault) -> None:
    """A fault that does not compile would be caught by every test, and show nothing."""
    source = (ROOT / fault.path).read_text("utf-8")
    compile(fault.applied(source), fault.path, "exec")


def test_there_are_at_least_thirty_faults_of_different_names() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 30


def test_a_fault_whose_text_is_gone_does_not_apply(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("a = 1\na = 1\n")
    for before in ("b = 2", "a = 1"):
        with pytest.raises(NotApplicable, match=r"one\.py"):
            Fault("a fault", "one.py", before, "").apply(tmp_path)
