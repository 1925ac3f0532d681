"""The part of a command in which every error, also one that nobody foresaw, becomes a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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
