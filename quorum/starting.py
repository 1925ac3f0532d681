"""The part of a command in which every error, also one that nobody foresaw, becomes a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quorum.errors import UsageError
from quorum.tui.agent.opening import StartFailure


@contextmanager
def explain_start_failures() -> Iterator[None]:
    """Raise StartFailure for any error but those the entry point explains itself."""
    try:
        yield
    except (UsageError, BrokenPipeError):
        raise
    except Exception as error:
        if is_explained(error):
            raise
        raise StartFailure(error) from error


def is_explained(error: Exception) -> bool:
    """Whether the entry point prints the error's own text and ends with exit code 2."""
    try:
        from quorum.domain.errors import ConfigError, LedgerError, ProviderError
    except ImportError:
        return False
    return isinstance(error, ConfigError | LedgerError | ProviderError)


def enter_layer(root: Path, session: str, *, is_shared: bool = True) -> None:
    """Have this process work in a layer over the folder from now on: in that in which the session, an id or its
    beginning, worked last, if there is one; unless it `is_shared`, in none that holds effects of another.

    Nothing of a session may have begun, and no thread. Raises UsageError where there can be no layer.
    """
    import os

    from quorum.domain.errors import StagingError
    from quorum.infrastructure.staging import entering
    from quorum.infrastructure.staging.workspace_layer import has_effects, recover

    try:
        entering.enter_layer(
            root,
            os.environ,
            session=session,
            is_shared=is_shared,
            recover=lambda folder: recover(folder, os.environ),
            has_effects=has_effects,
        )
    except StagingError as error:
        raise UsageError(str(error)) from error
