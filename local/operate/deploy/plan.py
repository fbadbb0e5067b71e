"""`--dry-run`: what a deploy would do, calculated here. Nothing is built, uploaded or changed."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from local.operate.deploy import cost, rights
from local.operate.deploy.change_set import Change, shown, summary
from local.operate.deploy.template import FUNCTION, created


def changes(template: Mapping[str, Any], given: Mapping[str, str], deployed: "Deployed | None") -> list[Change]:
    """Compare with what is deployed. The code of functions is left out: it is known only once it is built."""
    wanted = created(template, given)
    if deployed is None:
        return [Change("Add", name, one["Type"]) for name, one in wanted.items()]
    present = created(deployed.template, deployed.parameters)
    moved = {name for name, value in given.items() if deployed.parameters.get(name, value) != value}
    return [
        *(Change("Add", name, one["Type"]) for name, one in wanted.items() if name not in present),
        *(
            Change("Modify", name, one["Type"])
            for name, one in wanted.items()
            if name in present and (_without_code(one) != _without_code(present[name]) or _refers(one, moved))
        ),
        *(Change("Remove", name, one["Type"]) for name, one in present.items() if name not in wanted),
    ]


class Deployed(NamedTuple):
    """The template and the parameters of a stack."""

    template: Mapping[str, Any]
    parameters: Mapping[str, str]


def read_deployed(client: Any, name: str, parameters: Mapping[str, str]) -> Deployed:
    """The resources of the stack as it is now."""
    body = client.get_template(StackName=name, TemplateStage="Processed")["TemplateBody"]
    return Deployed(body if isinstance(body, dict) else json.loads(body), parameters)


def lines(
    template: Mapping[str, Any],
    given: Mapping[str, str],
    deployed: Deployed | None,
    policy: Mapping[str, Any],
    *,
    snap_start: bool,
) -> Iterator[str]:
    """The plan, the rights and the costs, for people."""
    planned = changes(template, given, deployed)
    yield f"Plan: {summary(planned)}, besides the code of the functions." if deployed else f"Plan: {summary(planned)}."
    yield from shown(planned)
    if deployed and planned:
        yield "Whether AWS would replace one of them is shown by the deploy, before it asks."
    yield ""
    counts = ", ".join(f"{name} {count}" for name, count in sorted(rights.services(policy).items()))
    yield f"Rights (actions by service): {counts}. `handoff deploy --policy` prints the whole policy."
    yield ""
    yield from cost.lines(created(template, given), snap_start=snap_start)
    yield ""
    yield "Nothing was changed."


def _without_code(resource: Mapping[str, Any]) -> Mapping[str, Any]:
    if resource["Type"] != FUNCTION:
        return resource
    return {**resource, "Properties": {key: value for key, value in resource["Properties"].items() if key != "Code"}}


def _refers(resource: Any, names: set[str]) -> bool:
    text = json.dumps(resource)
    return any(f'{{"Ref": "{name}"}}' in text or f"${{{name}}}" in text for name in names)
