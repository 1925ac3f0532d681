"""The part of a command in which every error, also one that nobody foresaw, becomes a sentence."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from quorum.errors import UsageError
from quorum.tui.agent.opening import StartFailure

if TYPE_CHECKING:
    from quorum.command_line.options import SessionOptions
    from quorum.session_store import SessionStore

_Options = TypeVar("_Options", bound="SessionOptions")


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


def stay_staged(options: _Options, root: Path) -> _Options:
    """The options, which say staged where they name no mode and go on with a session that was left in it.

    Only where there are layers over the folder is it looked up, which takes a moment. Raises ConfigError.
    """
    goes_on = options.continues or options.resume
    if not goes_on or options.fork or "review.mode" in options.overrides or not _has_layers(root):
        return options
    if not (session := _find_staged_session(options, root)):
        return options
    from quorum.domain.replacing import replace

    overrides = {**options.overrides, "review.mode": "staged"}
    return replace(options, continues=False, resume=session, overrides=overrides)


def _has_layers(root: Path) -> bool:
    from quorum.domain.errors import StagingError
    from quorum.infrastructure.config.paths import locate_state_folder
    from quorum.infrastructure.staging.layer_folder import list_places, locate_layers_of

    state = locate_state_folder(os.environ)
    try:
        return state is not None and bool(list_places(locate_layers_of(state, str(root))))
    except StagingError:
        return True


def _find_staged_session(options: SessionOptions, root: Path) -> str:
    """The id of the session that the options name, if it was left in the mode staged; else empty. Blocks."""
    import asyncio

    from quorum.domain.errors import LedgerError
    from quorum.domain.sessions.session_facts import escape_surrogates
    from quorum.infrastructure.storage import open_storage
    from quorum.session_store import SessionStore
    from quorum.settings import load

    settings = load(options, root, needs_project=False).settings
    storage = open_storage(settings.storage, os.environ)
    try:
        cwd = escape_surrogates(str(root))
        archive, contents = storage.archive, storage.contents
        store = SessionStore(archive=archive, contents=contents, settings=settings, root=root, cwd=cwd)
        return asyncio.run(_find_staged(options.resume or "latest", store))
    except (LedgerError, UsageError):  # whoever opens it says what is wrong
        return ""
    finally:
        storage.close()


async def _find_staged(name: str, store: SessionStore) -> str:
    from quorum.domain.events.session import ModeChanged, SessionResumed, SessionStarted
    from quorum.domain.review.mode import Mode

    kinds = (SessionStarted, SessionResumed, ModeChanged)
    session = await store.find_named(name)
    records = await store.archive.read(session.id, [kind.type for kind in kinds])
    modes = [record.event.mode for record in records if isinstance(record.event, kinds)]
    return session.id if modes[-1:] == [Mode.STAGED] else ""
