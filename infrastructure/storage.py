"""Opens what keeps all that outlives the process, in the storage backend that `[storage]` names."""

from __future__ import annotations

import asyncio
import glob
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.application.ports.storage import BlobStore, OpenedSession, Storage
from quorum.application.session.session_record import SessionRecord
from quorum.domain.errors import ConfigError, LedgerError
from quorum.domain.events.masking import SecretMask
from quorum.domain.replacing import replace
from quorum.domain.review.path_policy import (
    NO_CODE,
    NO_PLACES,
    REPOSITORIES,
    GuardedPlaces,
    OwnCode,
    PathPolicy,
)
from quorum.domain.sessions.session_summary import NewSession, SessionChoice
from quorum.infrastructure.blocking import watch_outages
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.config.paths import FILE_NAME, locate_state_folder, locate_user_file
from quorum.infrastructure.config.schema import Settings, StorageTable
from quorum.infrastructure.execution.sandbox.places import KnownPlaces, expand_path
from quorum.infrastructure.extras import is_installed, render_install_command
from quorum.infrastructure.files.swept_folder import UNRECORDED_PREFIX, open_swept_folder
from quorum.infrastructure.files.workspace import Workspace
from quorum.infrastructure.own_code import find_own_code
from quorum.infrastructure.storage_backend import (
    BUCKET_SCHEME,
    BlobPlace,
    ContentObjects,
    SchemaState,
    StorageBackend,
    load_backends,
)
from quorum.infrastructure.store.blobs.file_store import FileBlobStore
from quorum.infrastructure.store.blobs.shared_store import SharedBlobStore

# Whoever replays a record asks for the traits of the tools in it.
from quorum.infrastructure.tools import built_in_tools as built_in_tools

if TYPE_CHECKING:
    from quorum.application.ports.fleet import Fleet
    from quorum.infrastructure.store.objects.object_store import ObjectStore
    from quorum.infrastructure.store.snapshots.keeper import WorkspaceKeeper
    from quorum.infrastructure.store.sql.copying import CopyReport, WholeSessionWriter


_DEFAULT_SCHEME = "sqlite"
URL_SETTING = "[storage] url"
"""What errors call the address of a storage."""


def open_storage(table: StorageTable, environ: Mapping[str, str]) -> Storage:
    """Open what keeps sessions, former contents and large outputs, or make it. Blocks.

    Raises ConfigError for a place that cannot be used, and LedgerError, which names the place and the remedy.
    """
    return _find_backend(table).open(table.url, environ, locate_blobs(table, environ))


def load_default_storage() -> None:
    """Import what opens sessions where no other storage is named, for whom the first opening must be quick."""
    import quorum.infrastructure.store.ledger.opening  # noqa: F401


def open_keeper(
    storage: Storage,
    workspace: Workspace,
    policy: PathPolicy,
    holds_secret: Callable[[bytes], bool],
    on_sensitive: Callable[[str], object],
) -> WorkspaceKeeper:
    """What keeps files of a workspace outside any session."""
    from quorum.infrastructure.store.snapshots import keeper
    from quorum.infrastructure.store.snapshots.reading import FileReader

    reader = FileReader(workspace, policy, holds_secret, on_sensitive=on_sensitive)
    return keeper.WorkspaceKeeper(reader, storage.contents, own_paths=policy.own)


def uses_bucket(table: StorageTable) -> bool:
    """Whether large outputs go into an object store."""
    return table.blobs.startswith(BUCKET_SCHEME)


def open_fleet(table: StorageTable, environ: Mapping[str, str]) -> Fleet:
    """Open the queue of sessions that workers advance. Blocks.

    Raises ConfigError for a storage that has none, and LedgerError, which names the place and the remedy.
    """
    open_queue = _find_backend(table).open_fleet
    if open_queue is None:
        raise ConfigError(
            "a fleet needs a database that several processes share; name PostgreSQL in [storage] url: "
            "docs/beyond-one-machine.md"
        )
    return open_queue(table.url, environ)


def read_schema_state(table: StorageTable, environ: Mapping[str, str]) -> SchemaState:
    """Which tables the storage has. Blocks. Raises ConfigError and LedgerError."""
    read = _find_backend(table).read_state
    if read is None:
        raise ConfigError(f"{table.url!a} keeps sessions without tables")
    return read(table.url, environ)


def upgrade_schema(table: StorageTable, environ: Mapping[str, str]) -> SchemaState:
    """Bring the tables of the storage to the version that is needed, or make them; as it was before. Blocks.

    Raises ConfigError and LedgerError.
    """
    upgrade = _find_backend(table).upgrade
    if upgrade is None:
        raise ConfigError(f"{table.url!a} keeps sessions without tables")
    return upgrade(table.url, environ)


def copy_sessions(
    source: StorageTable,
    target: StorageTable,
    environ: Mapping[str, str],
    tell: Callable[[str], None],
    *,
    source_option: str = URL_SETTING,
    target_option: str = URL_SETTING,
) -> CopyReport:
    """Copy all sessions with their contents and large outputs from one storage to another. Blocks.

    `tell` is given sentences about its progress. Errors name the options that named the two addresses.
    Raises ConfigError, and LedgerError for a target that holds other sessions, before anything is written.
    """
    from quorum.infrastructure.store.sql.copying import SqlStorage, check_target, copy_ledger, copy_outputs

    with (
        closing(_open_named(source, environ, source_option)) as sent,
        closing(_open_named(target, environ, target_option)) as received,
    ):
        if sent.place == received.place:
            raise ConfigError(f"{sent.place} is where the sessions are already; name another database")
        if not isinstance(sent, SqlStorage) or not isinstance(received, SqlStorage):
            raise ConfigError(f"sessions cannot be copied from {sent.place} to {received.place}")
        check_target(sent, received)
        # Outputs before the events that name them.
        outputs, left = copy_outputs(_list_outputs(sent), _list_outputs(received))
        report = copy_ledger(sent, received, tell)
    return replace(report, outputs=outputs, left=(*left, *report.left))


def open_whole_writer(storage: Storage) -> WholeSessionWriter:
    """What writes sessions that happened elsewhere. Raises ConfigError for a storage that cannot keep them."""
    from quorum.infrastructure.store.sql.copying import SqlStorage, WholeSessionWriter

    if not isinstance(storage, SqlStorage):
        raise ConfigError(f"sessions of other agents cannot be kept in {storage.place}")
    return WholeSessionWriter(storage)


def _open_named(table: StorageTable, environ: Mapping[str, str], option: str) -> Storage:
    """Open a storage that an option names. What is wrong with the address is wrong with that."""
    try:
        return open_storage(table, environ)
    except LedgerError as error:
        raise LedgerError(str(error).replace(URL_SETTING, option)) from error


def _list_outputs(storage: Storage) -> FileBlobStore | SharedBlobStore:
    blobs = storage.open_blobs()
    if isinstance(blobs, FileBlobStore | SharedBlobStore):
        return blobs
    raise ConfigError(
        f"{storage.place} has no place for large outputs on this machine: set HOME, or storage.blobs"
    )


def locate_blobs(table: StorageTable, environ: Mapping[str, str]) -> BlobPlace:
    """Where the settings say that large outputs and former contents go. Raises ConfigError."""
    return BlobPlace(
        partial(open_blob_store, table, environ),
        is_named=bool(table.blobs),
        contents=_open_bucket_contents(table, environ),
    )


def _open_bucket_contents(table: StorageTable, environ: Mapping[str, str]) -> ContentObjects | None:
    """Where former contents go beside the database. Raises ConfigError for a bucket that cannot be used."""
    if not uses_bucket(table):
        return None
    objects = _open_bucket(table.blobs, environ)
    from quorum.infrastructure.store.objects.object_store import BucketContents

    return BucketContents(objects)


def open_empty_record(table: StorageTable, environ: Mapping[str, str], mask: SecretMask) -> SessionRecord:
    """The record of a session that never begins. Raises ConfigError as `open_blob_store` does."""
    from quorum.infrastructure.store.no_storage import build_empty_record

    return build_empty_record(open_blob_store(table, environ, mask))


def open_blob_store(
    table: StorageTable, environ: Mapping[str, str], mask: SecretMask | None = None
) -> BlobStore | None:
    """The store of large outputs; None where there is no folder for it.

    Raises ConfigError for a bucket that cannot be used.
    """
    if uses_bucket(table):
        return _open_shared_outputs(table, environ, mask)
    if table.blobs:
        return FileBlobStore(Path(table.blobs).expanduser(), mask)
    state = locate_state_folder(environ)
    return FileBlobStore(state / "blobs", mask) if state is not None else None


def remove_abandoned_outputs(table: StorageTable, environ: Mapping[str, str]) -> None:
    """Remove what killed processes had not written to the end of the outputs that are kept on this machine.

    What cannot be looked into stays for the next time.
    """
    from quorum.infrastructure.store.blobs.file_store import remove_abandoned_temporaries

    state = locate_state_folder(environ)
    folder = (
        Path(table.blobs).expanduser() if table.blobs and not uses_bucket(table) else state and state / "blobs"
    )
    if folder is not None:
        with suppress(OSError):
            remove_abandoned_temporaries(folder)


def _open_shared_outputs(table: StorageTable, environ: Mapping[str, str], mask: SecretMask | None) -> BlobStore:
    objects = _open_bucket(table.blobs, environ)
    state = locate_state_folder(environ)
    if state is None:
        raise ConfigError("outputs in a bucket are also kept in the state folder, and there is none: set HOME")
    from quorum.infrastructure.store.objects.object_store import BucketOutputs

    return SharedBlobStore(FileBlobStore(state / "blobs", mask), BucketOutputs(objects))


def _open_bucket(url: str, environ: Mapping[str, str]) -> ObjectStore:
    from quorum.infrastructure.store.objects.bucket import parse_bucket

    address = parse_bucket(url, environ)
    if not is_installed("obstore"):
        raise ConfigError(f"storage.blobs names a bucket, which needs: {render_install_command('s3')}")
    from quorum.infrastructure.store.objects.object_store import ObjectStore

    return ObjectStore(address)


def list_storage_paths(table: StorageTable, environ: Mapping[str, str]) -> list[Path]:
    """The files and folders on this machine that the table names; those in the state folder are not among them.

    Raises ConfigError for a place that cannot be used.
    """
    paths: list[Path] = []
    if table.url:
        paths += _find_backend(table).list_files(table.url, environ)
    if table.blobs and not uses_bucket(table):
        paths.append(Path(table.blobs).expanduser())
    return paths


def _find_backend(table: StorageTable) -> StorageBackend:
    backends = load_backends()
    scheme = table.url.partition(":")[0] if table.url else _DEFAULT_SCHEME
    if scheme not in backends:
        raise ConfigError(f"storage.url begins with {scheme!a}; sessions can be kept in: {', '.join(backends)}")
    return backends[scheme]


def open_record(
    table: StorageTable, environ: Mapping[str, str], choice: SessionChoice, *, cwd: str, fork: bool = False
) -> SessionRecord:
    """The record of the session that is chosen, or, with `fork`, of a copy of it. Blocks.

    If the record of a new session cannot be stored, it lasts as long as this process, and a notice says so.
    Raises LedgerError if an earlier session cannot be resumed, ConfigError for an invalid url.
    """
    begun = choice if isinstance(choice, NewSession) else NewSession()
    try:
        storage = open_storage(table, environ)
    except LedgerError as trouble:
        if not isinstance(choice, NewSession):
            raise
        return _open_unrecorded(trouble, table, environ, begun)
    try:
        opened = storage.open_session(choice, cwd=cwd, fork=fork)
    except BaseException:
        storage.close()
        raise
    return _record(storage, opened, begun=begun)


def _open_unrecorded(
    trouble: LedgerError, table: StorageTable, environ: Mapping[str, str], begun: NewSession
) -> SessionRecord:
    notice = f"This session is not recorded, and ends with this process: {trouble}"
    try:
        return open_unrecorded(table, environ, notice, begun=begun)
    except (LedgerError, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else None
        raise LedgerError(
            f"{trouble}; a session that is not recorded needs room for temporary files, and there is none"
            f" either ({why or error}): make room, or name another folder in TMPDIR"
        ) from error


def open_unrecorded(
    table: StorageTable, environ: Mapping[str, str], *notices: str, begun: NewSession
) -> SessionRecord:
    """A record in a folder of its own, which is gone when it is released. `notices` say why.

    Large outputs are kept where the table says. Raises LedgerError and OSError where there is no room for it.
    """
    keeping = ExitStack()
    folder = keeping.enter_context(open_swept_folder(UNRECORDED_PREFIX))
    try:
        place = StorageTable(url=f"{_DEFAULT_SCHEME}:///{folder}/ledger.sqlite")
        # Former contents go with the session: they stay in the folder.
        blobs = replace(locate_blobs(table, environ), contents=None)
        storage = _find_backend(place).open(place.url, {}, blobs)
        opened = storage.open_session(NewSession(), cwd="")
    except BaseException:
        keeping.close()
        raise
    return _record(storage, opened, notices, begun=begun, folder=keeping)


def _record(
    storage: Storage,
    opened: OpenedSession,
    notices: tuple[str, ...] = (),
    *,
    begun: NewSession,
    folder: ExitStack | None = None,
) -> SessionRecord:
    """The record of an opened session; the one in a `folder` is gone with it when it is released."""

    watching = ExitStack()

    async def release() -> None:
        with watching:
            try:
                if opened.ledger is not None:
                    await opened.ledger.aclose()
            finally:
                try:
                    await asyncio.to_thread(storage.close)
                finally:
                    if folder is not None:
                        folder.close()

    return SessionRecord(
        session_id=opened.session_id,
        ledger=opened.ledger,
        storage=storage,
        release=release,
        records=opened.records,
        notices=(*notices, *storage.notices, *opened.notices),
        in_use=str(opened.in_use or ""),
        outlives=folder is None,
        begun_as=begun.form,
        begun_with=begun.external_agent,
        watch_outages=lambda tell: watching.enter_context(watch_outages(tell)),
    )


def build_path_policy(
    settings: Settings,
    roots: Sequence[Path],
    own: Sequence[Path] = (),
    config_files: Sequence[Path] = (),
    *,
    folders: Sequence[str] | None = None,
    code: OwnCode = NO_CODE,
    places: GuardedPlaces = NO_PLACES,
    is_layered: bool = False,
) -> PathPolicy:
    """The roots of the workspace, the patterns of the person, what is quorum's own, and its code.

    `folders` are the roots where they may grow. A file of settings that lies in the workspace, wherever
    --config found it, is as protected as a project's. `is_layered`: what the patterns of the person protect is
    an effect for review, but for what quorum and git obey before that. Raises ConfigError where such a
    workspace holds files of quorum's own.
    """
    if is_layered:
        _require_own_outside(roots, own)
    named = [
        glob.escape(str(file.relative_to(root)))
        for file in map(Path.resolve, config_files)
        for root in roots
        if file.is_relative_to(root)
    ]
    return PathPolicy(
        roots=folders if folders is not None else tuple(map(str, roots)),
        own=tuple(map(os.path.realpath, own)),
        is_layered=is_layered,
        code=code,
        places=places,
        protected=(*(REPOSITORIES if is_layered else settings.review.protected), *named),
        sensitive=settings.review.sensitive,
    )


def find_session_paths(
    loaded: LoadedSettings,
    workspace: Workspace,
    environ: Mapping[str, str],
    sockets: Sequence[Path],
    *,
    is_layered: bool,
) -> tuple[tuple[Path, ...], PathPolicy]:
    """What is quorum's own for a session, and what its calls may do with paths. Raises ConfigError."""
    settings, roots = loaded.settings, workspace.roots
    own = list_own_paths(settings, roots, environ, loaded.files, sockets)
    return own, build_path_policy(
        settings,
        roots,
        own,
        loaded.files,
        folders=workspace.folders,
        code=find_own_code(settings, workspace.cwd, environ),
        places=KnownPlaces(workspace.folders),
        is_layered=is_layered,
    )


def _require_own_outside(roots: Sequence[Path], own: Sequence[Path]) -> None:
    """What quorum keeps must not stay in a layer, nor go with it."""
    inside = [path for path in map(Path.resolve, own) if any(path.is_relative_to(root) for root in roots)]
    if inside:
        raise ConfigError(
            f"quorum keeps files of its own in the workspace ({inside[0]}), which no layer may hold: keep them "
            "elsewhere, or choose another mode"
        )


def list_writable_paths(settings: Settings, root: Path, environ: Mapping[str, str]) -> tuple[str, ...]:
    """What the person lets commands in the sandbox write beside the workspace, canonical."""
    named = settings.tools.run_command.sandbox_writable
    return tuple(os.path.realpath(expand_path(path, environ, root)) for path in named)


def list_own_paths(
    settings: Settings,
    roots: Sequence[Path],
    environ: Mapping[str, str],
    config_files: Sequence[Path],
    sockets: Sequence[Path] = (),
) -> tuple[Path, ...]:
    """The files and folders that are quorum's own: state, settings, stored outputs, the sockets we listen at.

    Of `config_files` all are among them but those of the project: in the workspace, or above it.
    """
    state, own_file = locate_state_folder(environ), locate_user_file(environ)
    own = [state, own_file.parent if own_file is not None else None, *sockets]
    own += [file for file in map(Path.resolve, config_files) if not _is_the_projects(file, roots)]
    own += list_storage_paths(settings.storage, environ)
    return tuple(path for path in own if path is not None)


def _is_the_projects(file: Path, roots: Sequence[Path]) -> bool:
    above = any(root.is_relative_to(file.parent) for root in roots)
    return any(file.is_relative_to(root) for root in roots) or (file.name == FILE_NAME and above)
