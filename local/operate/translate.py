"""Writes the template as plain CloudFormation for `handoff deploy`: `make template`."""

import json
import sys

from local.cloud.sam import to_cloudformation
from local.operate.deploy.template import PATH
from local.paths import TEMPLATE

ANY_REGION = "us-east-1"
"""The translation is the same for every region; a test compares."""


def translated(region: str = ANY_REGION) -> str:
    """template.yaml as CloudFormation, in the one form in which it is stored."""
    return json.dumps(to_cloudformation(TEMPLATE.read_text(), region), indent=1) + "\n"


def main() -> int:
    """Write the file. The same template gives the same bytes."""
    PATH.write_text(translated())
    sys.stdout.write(f"{PATH}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
