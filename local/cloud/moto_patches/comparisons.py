"""Conditions compare values of one type only.

moto compares the Python values: a boolean equals a number, and a number against a text is a TypeError. DynamoDB holds values
of different types for different, and orders neither them nor booleans, lists and maps.
"""

from typing import Any

from moto.dynamodb import comparisons as moto

_ORDERED = ("N", "S", "B")


def apply() -> None:
    for operator in (moto.OpLessThan, moto.OpLessThanOrEqual, moto.OpGreaterThan, moto.OpGreaterThanOrEqual):
        operator.expr = _ordered(operator.expr)
    moto.OpEqual.expr = lambda self, item: _is_equal(self.lhs, self.rhs, item)
    moto.OpNotEqual.expr = lambda self, item: not _is_equal(self.lhs, self.rhs, item)
    moto.FuncIn.expr = lambda self, item: any(_is_equal(self.attr, value, item) for value in self.possible_values)


def _ordered(plain: Any) -> Any:
    def expr(self: Any, item: Any) -> bool:
        types = {_type(self.lhs, item), _type(self.rhs, item)}
        return len(types) == 1 and types <= {*_ORDERED} and bool(plain(self, item))

    return expr


def _is_equal(left: Any, right: Any, item: Any) -> bool:
    return _type(left, item) == _type(right, item) and bool(left.expr(item) == right.expr(item))


def _type(operand: Any, item: Any) -> str | None:
    """The type of a value, None if it is missing; a function such as `size` gives a number."""
    return operand.get_type(item) if isinstance(operand, moto.Operand) else "N"
