"""An export as a file: its name chooses the form."""

from __future__ import annotations

import asyncio
import os
from itertools import count
from pathlib import Path
from typing import Protocol

from quorum.application.export.formats import ExportFormat, render_export
from quorum.application.ports.storage import SessionArchive
from quorum.domain.errors import ConfigError
from quorum.domain.events.masking import SecretMask

_FORMS: dict[str, ExportFormat] = {".md": "md", ".json": "json", ".html": "html", ".jsonl": "canonical"}


class RecordWithArchive(Protocol):
    """What an export needs of a session's record."""

    @property
    def archive(self) -> SessionArchive:
        """Where all records are found."""


class ExportableSession(Protocol):
    """What an export needs of a session: its records, and how its secrets are hidden."""

    @property
    def session_id(self) -> str: ...

    @property
    def record(self) -> RecordWithArchive: ...

    @property
    def mask(self) -> SecretMask: ...


async def export_to(file: str, session: ExportableSession, *, folder: Path, exports: Path) -> Path:
    """Write all of the session into this file, named from the folder; without a name into a new one in
    `exports`, which only the person can read.

    Raises ConfigError for a name that chooses no form, LedgerError, and OSError where the file cannot be made:
    one that is there is not overwritten.
    """
    if file:
        target = _choose_target(file, folder)
    else:
        target = await asyncio.to_thread(_find_free_name, exports, f"quorum-{session.session_id}")
    if (form := _FORMS.get(target.suffix)) is None:
        raise ConfigError(f"{target.name} should end in {', '.join(_FORMS)}: that chooses the form")
    archive = session.record.archive
    summary, records = await archive.find(session.session_id), await archive.read(session.session_id)

    def write() -> None:
        content = render_export(form, summary, records, session.mask.mask_text)
        with os.fdopen(
            os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
        ) as out:
            out.write(content)

    await asyncio.to_thread(write)
    return target


def _find_free_name(folder: Path, stem: str) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    names = (f"{stem}.md" if number == 1 else f"{stem}-{number}.md" for number in count(1))
    return next(folder / name for name in names if not os.path.lexists(folder / name))


def _choose_target(name: str, folder: Path) -> Path:
    if "\0" in name:
        raise ConfigError(f"{name!r} can be no file's name")
    try:
        return folder / Path(name).expanduser()
    except RuntimeError as error:
        raise ConfigError(f"{name} names no file: {error}") from error
