"""Unused services and the SAM translator are not imported at the start."""

import subprocess
import sys

import pytest

from local.cloud import template
from local.cloud.moto_patches.skip_unused_services import SERVICES, EmptyModule
from local.paths import ROOT


def test_services_that_cannot_be_deployed_are_skipped() -> None:
    handled = {kind.split("::")[1].lower() for kind in template.IN_MOTO}
    assert not {f"moto.{name}" for name in handled} & SERVICES
    program = (
        "import sys; from local.cloud.cloud import Cloud; from local.paths import TEMPLATE, TRANSLATED\n"
        "cloud = Cloud(); cloud.deploy(TEMPLATE, {}, name='stack', cache=TRANSLATED); cloud.stop()\n"
        "print(type(sys.modules['moto.ec2']).__name__, 'samtranslator' in sys.modules)"
    )
    translate_first = [sys.executable, "-c", program]
    subprocess.run(translate_first, cwd=ROOT, check=True, capture_output=True)
    done = subprocess.run(translate_first, cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout == "EmptyModule False\n"
    assert done.stderr == ""


def test_an_empty_module_has_every_name() -> None:
    module = EmptyModule("moto.ec2")
    assert module.ec2_backends.__name__ == "ec2_backends"
    with pytest.raises(AttributeError):
        module.__file__  # noqa: B018 - looking is the test
