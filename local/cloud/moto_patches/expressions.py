"""Update and condition expressions at a fraction of the cost: half of the time of a write, otherwise.

moto parses the same text two to four times per request, copies the result as if nothing were known of it, and walks it
ten times, asking at each node for each class. What an expression does is left to moto.
"""

import copy
import functools
from collections.abc import Callable
from typing import Any

from moto.dynamodb.comparisons import ConditionExpressionParser
from moto.dynamodb.parsing.ast_nodes import DepthFirstTraverser, Node
from moto.dynamodb.parsing.expressions import UpdateExpressionParser
from moto.dynamodb.parsing.validators import ActionCountValidator

MEMORY = 1024  # expressions


def apply() -> None:
    _parse_updates_once()
    _parse_conditions_once()
    Node.__deepcopy__ = _copy
    DepthFirstTraverser.traverse_node_recursively = _traverse
    ActionCountValidator.traverse = ActionCountValidator.verify_action_counts  # what holds for the root holds below it


def _parse_updates_once() -> None:
    """Each use works on a copy of what is remembered."""
    parse = UpdateExpressionParser.make
    UpdateExpressionParser.make = staticmethod(functools.lru_cache(MEMORY)(parse))


def _parse_conditions_once() -> None:
    """Under the lock of all DynamoDB actions. Values are part of what is remembered, so hardly any outlives its request."""
    plain = ConditionExpressionParser.parse
    known: dict[tuple[str, str], tuple[Any, list[str], list[str]]] = {}

    def parse(self: ConditionExpressionParser) -> Any:
        if not self.condition_expression:
            return plain(self)
        key = self.condition_expression, repr((self.expression_attribute_names, self.expression_attribute_values))
        if key not in known:
            if len(known) >= MEMORY:
                known.clear()
            known[key] = plain(self), [*self.expr_attr_names_found], [*self.expr_attr_values_found]
            return known[key][0]
        condition, names, values = known[key]
        self.expr_attr_names_found.extend(names)
        self.expr_attr_values_found.extend(values)
        return condition

    ConditionExpressionParser.parse = parse


def _copy(self: Node, memo: dict[int, Any]) -> Node:
    """Nodes know their children and their parent; what is no node below one is a text, a number or a value."""
    clone: Node = object.__new__(type(self))
    clone.__dict__.update(self.__dict__)
    if self.children is not None:
        clone.children = [copy.deepcopy(child, memo) for child in self.children]
        for child in clone.children:
            if isinstance(child, Node):
                child.parent = clone
    clone.parent = None
    return clone


@functools.cache
def _is_node(kind: Any) -> bool:
    return issubclass(kind, Node)


@functools.cache
def _key(keys: tuple[Any, ...], kind: Any) -> Any:
    return next((key for key in keys if issubclass(kind, key)), None)


def _traverse(self: DepthFirstTraverser, node: Any, child_id: int = -1) -> Any:
    """As moto's own: depth first, each node processed after its children, and put where it was."""
    processors: dict[type, Callable[[Any], Any]] = self._processing_map()
    keys = tuple(processors)
    prepare = self.pre_processing_of_child

    def traverse(node: Any, child_id: int) -> Any:
        kind: Any = type(node)
        if not _is_node(kind):
            return node
        parent = node.parent
        for number, child in enumerate(node.children or ()):
            prepare(node, number)
            traverse(child, number)
        key = _key(keys, kind)
        if key is not None:
            node = processors[key](node)
            node.parent = parent
            if parent:
                parent.children[child_id] = node
        return node

    return traverse(node, child_id)
