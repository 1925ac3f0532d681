"""What happened in a recorded session, shown and exported."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from quorum.cli.errors import UsageError
from quorum.cli.session_store import SessionStore
from quorum.options import SessionsOptions

if TYPE_CHECKING:
    from collections.abc import Callable


async def show(wish: SessionsOptions, store: SessionStore) -> int:
    """Print it as plain text, long outputs cut; always 0."""
    from application.export.narration import account_of
    from application.export.plain import plain

    session = await store.named(wish.session)
    sys.stdout.write(plain(account_of(session, await store.archive.read(session.id), _mask(store))))
    return 0


async def export(wish: SessionsOptions, store: SessionStore) -> int:
    """Write all of it to the file asked for, or to stdout; always 0."""
    from application.export.formats import render_export

    session = await store.named(wish.session)
    text = render_export(wish.format, session, await store.archive.read(session.id), _mask(store))
    if wish.file is None:
        sys.stdout.write(text)
        return 0
    try:
        wish.file.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"cannot write {wish.file}: {error.strerror}; name another file with -o") from error
    return 0


def _mask(store: SessionStore) -> Callable[[str], str]:
    """What is on record is masked already. On its way out it is masked once more, with what is known by now."""
    from domain.events.masking import SecretMask
    from infrastructure.secrets.known import SessionSecrets
    from infrastructure.session_paths import path_policy

    mask = SecretMask()
    policy = path_policy(store.settings, (store.root,))
    SessionSecrets(mask, settings=store.settings, environ=os.environ, policy=policy).gather()
    return mask.text
