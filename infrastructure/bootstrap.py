"""The composition of a session out of its settings, and the warming up of what it will need."""

from __future__ import annotations

import gc
import os
import sys
from dataclasses import replace
from pathlib import Path
from threading import Thread

from application.ports import Approver, Observer
from application.session.late_secrets import without_late_secrets
from application.session.session_record import SessionRecord
from domain.conversation.session_kind import SessionKind
from domain.errors import ProviderError
from domain.events.event import Event, ModelChanged, SessionResumed, SessionStarted
from domain.events.masking import SecretMask
from domain.sessions.past_session import LedgerRecord, SessionChoice
from infrastructure.config.loading import FLAG_ORIGIN, LoadedSettings
from infrastructure.config.model_choice import choose_roles
from infrastructure.container import Container
from infrastructure.execution.process_privacy import close_process_to_inspection
from infrastructure.secrets.key_ring import KeyRing
from infrastructure.secrets.output_masking import mask_crashes, mask_logs
from quorum.cli.errors import mask_complaints
from quorum.cli.headless import NonInteractiveApprover


def open_session(
    loaded: LoadedSettings, root: Path, choice: SessionChoice, *, fork: bool = False
) -> SessionRecord:
    """The record of the session that is chosen; with `fork` that of a copy of it. Blocks.

    A new session whose record cannot be kept is not recorded, and says so. Raises LedgerError where an earlier
    one cannot be taken up, ConfigError for a place that cannot be.
    """
    from infrastructure.store.ledger.recording import open_record  # it loads the database

    return open_record(loaded.settings.storage.url, os.environ, choice, cwd=str(root), fork=fork)


def compose(
    loaded: LoadedSettings,
    root: Path,
    person: Approver,
    observer: Observer,
    record: SessionRecord,
    mask: SecretMask | None = None,
    sockets: tuple[Path, ...] = (),
) -> Container:
    """A session, complete but for what is loaded on first use. Raises ConfigError and ProviderError.

    Sessions side by side share a mask: what one of them learns to be a secret no other shows. `sockets` are
    those we listen at ourselves.
    """
    close_process_to_inspection()
    mask = mask or SecretMask()
    for hide in (mask_logs, mask_crashes, mask_complaints):
        hide(mask.text)
    keys = KeyRing(mask.learn)
    container = _container(loaded, root, person, observer, mask, keys)
    container.sockets.override(sockets)
    container.secrets().gather()  # before anything is said, or put on record
    _put_on_record(container, record, mask)
    _choose_model(container, loaded, record, keys)
    container.rules()  # a damaged file of saved rules is told now, not at the first prompt
    container.spec()  # and so are tools that cannot be had
    Thread(target=_warm_up, args=(container,), name="warm-up", daemon=True).start()
    return container


def compose_unused(loaded: LoadedSettings, root: Path) -> Container:
    """A session that is only looked at: nobody is asked, nobody hears of it, and no model is needed."""
    return _container(loaded, root, NonInteractiveApprover(), _Unheard(), SecretMask(), KeyRing())


def _put_on_record(container: Container, record: SessionRecord, mask: SecretMask) -> None:
    """The past as it was for the model, and without secrets for all who look at it."""
    shown, told = without_late_secrets(record.records, mask, record.session_id)
    container.record.override(
        replace(record, records=shown, told=(*record.told, told) if told else record.told)
    )
    container.form.override(record.form)
    container.contents.override(record.contents)
    container.ledger.override(record.ledger)
    container.past.override(record.records)


def _choose_model(container: Container, loaded: LoadedSettings, record: SessionRecord, keys: KeyRing) -> None:
    """The model the session had, where it had one, that can be had, and no other is asked for now.

    A missing key is told here, not at the first prompt.
    """
    roles = choose_roles(loaded, os.environ, keys.key)
    usual = (roles.ask if record.form is SessionKind.ASK else roles.decision).model
    former = _former_model(record.records)
    if former is not None and former != usual and loaded.origins.get("models.decision") != FLAG_ORIGIN:
        container.model.override(former)
        try:
            container.session()
            return
        except ProviderError as error:
            told = f"The session's model, {former}, cannot be had, so {usual} goes on with it: {error}"
            known = container.record()
            container.record.override(replace(known, told=(*known.told, told)))
    container.model.override(usual)
    container.session()


def _former_model(records: tuple[LedgerRecord, ...]) -> str | None:
    for record in reversed(records):
        if isinstance(record.event, ModelChanged | SessionResumed | SessionStarted):
            return record.event.model
    return None


def _container(
    loaded: LoadedSettings,
    root: Path,
    person: Approver,
    observer: Observer,
    mask: SecretMask,
    keys: KeyRing,
) -> Container:
    return Container(
        settings=loaded.settings,
        model="",
        root=root,
        environ=os.environ,
        config_files=loaded.files,
        origins=loaded.origins,
        person=person,
        observer=observer,
        mask=mask,
        stored_key=keys.key,
    )


class _Unheard:
    """Nobody hears what happens."""

    def notify(self, event: Event) -> None:
        """Take no note."""


def _warm_up(container: Container) -> None:
    """Import what takes long while the person types or the first answer is on its way."""
    container.gateway().warm_up(container.model())
    container.schema().warm_up(container.spec())
    container.sandbox().look()
    if "textual" in sys.modules:
        from tui.transcript.layout.view import TranscriptView

        TranscriptView.warm_up()
    if not gc.get_freeze_count():  # once: what is frozen of a session stays after it is closed
        gc.freeze()
    gc.enable()
