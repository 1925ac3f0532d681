"""Many values, tried in one test."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable


def every(name: str, values: Iterable[object]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Have a test try these as `parametrize` does, but as one test: of hundreds, pytest takes most of the time.

    What fails says with which value.
    """
    tried = [*values]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def try_all(**others: object) -> None:
            for value in tried:
                try:
                    test(**others, **{name: value})
                except BaseException as error:
                    error.add_note(f"{name}: {value!r}")
                    raise

        whole = inspect.signature(test)
        left = [each for each in whole.parameters.values() if each.name != name]
        try_all.__signature__ = whole.replace(parameters=left)  # type: ignore[attr-defined]
        return try_all

    return decorate
