"""Regular expressions that are compiled when they are first used.

Some three hundred stand in the modules that a session loads before its first request, which uses few of them;
to compile one takes 0.05 to 1 ms.
"""

from __future__ import annotations

import re
from typing import AnyStr, Generic, cast


def compile_late(expression: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """What `re.compile` returns, but for its type, compiled with the first call of one of its methods.

    An error in the expression is raised then. It is no argument for the functions of `re`, and it
    is not the `re` of a match.
    """
    return cast("re.Pattern[AnyStr]", _LatePattern(expression, flags))


class _LatePattern(Generic[AnyStr]):
    """Has each attribute of the compiled expression once that was asked for."""

    def __init__(self, expression: AnyStr, flags: int) -> None:
        self.pattern: AnyStr = expression
        self._flags = flags

    def __getattr__(self, name: str) -> object:
        value: object = getattr(re.compile(self.pattern, self._flags), name)
        if not name.startswith("_"):
            setattr(self, name, value)  # is found without this method from now on
        return value
