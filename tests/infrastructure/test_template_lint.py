"""Others' linters on the template: as SAM, and as the CloudFormation that it becomes."""

import json
import re
from typing import Any

from cfnlint.api import ManualArgs, lint

from local.paths import TEMPLATE


def _findings(text: str) -> list[str]:
    """Everything that cfn-lint has to say, remarks included. It reads what it ships with, and no network."""
    settings = ManualArgs(regions=["us-east-1", "eu-central-1"], include_checks=["I"])
    return [f"{match.rule.id} line {match.linenumber}: {match.message}" for match in lint(text, config=settings)]


def test_the_template_is_right_as_sam() -> None:
    assert _findings(TEMPLATE.read_text()) == []


def test_the_template_is_right_as_cloudformation(translated: dict[str, Any]) -> None:
    # Finds misspelt attributes inside policies, which the SAM linter does not look into.
    assert _findings(json.dumps(translated)) == []


def test_rules_use_the_functions_that_rules_may_use(translated: dict[str, Any]) -> None:
    # CloudFormation refuses others, such as Fn::Join, and the linter does not know.
    allowed = {
        "And",
        "Contains",
        "EachMemberEquals",
        "EachMemberIn",
        "Equals",
        "Not",
        "Or",
        "RefAll",
        "ValueOf",
        "ValueOfAll",
    }
    used = set(re.findall(r'"Fn::(\w+)"', json.dumps(translated["Rules"])))
    assert used
    assert used <= allowed
