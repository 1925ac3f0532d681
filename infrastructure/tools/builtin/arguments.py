"""Arguments of a call as plain Python values. The schema has checked them; this keeps the types honest."""

from __future__ import annotations

from quorum.domain.calls.tool import ToolParameter
from quorum.domain.errors import ToolError
from quorum.domain.text.json_value import JsonObject

FILE_PARAMETER = ToolParameter(
    name="path", type="path", description="The file, absolute or from the working directory.", required=True
)
"""Which file a call is about."""


def require_text(arguments: JsonObject, name: str, default: str | None = None) -> str:
    """A string argument. Raises ToolError if it is missing without a default, or no string."""
    value = arguments.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise ToolError(f"{name} must be a string")
    return value


def require_integer(arguments: JsonObject, name: str, default: int, *, minimum: int) -> int:
    """An integer argument of at least `minimum`. Raises ToolError if it is something else."""
    value = arguments.get(name)
    if value is None:
        return default
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or (isinstance(value, float) and not value.is_integer())
        or value < minimum
    ):
        raise ToolError(f"{name} must be a whole number of at least {minimum}")
    return int(value)


def require_flag(arguments: JsonObject, name: str) -> bool:
    """A boolean argument, false where it is missing. Raises ToolError if it is something else."""
    value = arguments.get(name)
    if value is not None and not isinstance(value, bool):
        raise ToolError(f"{name} must be true or false")
    return bool(value)
