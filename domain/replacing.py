"""The fields of structs and dataclasses alike, and `replace` as `copy.replace` of Python 3.13 has it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import replace as replace  # noqa: TID251 - type checkers know the fields of structs, too
else:

    def replace(value: Any, /, **changes: Any) -> Any:
        """The same value with other fields. Raises TypeError for a field that there is not."""
        if hasattr(value, "__replace__"):
            return value.__replace__(**changes)
        return dataclasses.replace(value, **changes)  # noqa: TID251


def list_fields(kind: type) -> tuple[str, ...]:
    """The names of the fields of a class; none where it is neither a struct nor a dataclass."""
    names: tuple[str, ...] | None = getattr(kind, "__struct_fields__", None)
    return tuple(getattr(kind, "__dataclass_fields__", ())) if names is None else names
