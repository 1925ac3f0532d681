from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import quorum.infrastructure.store
from quorum.domain.errors import ConfigError
from quorum.domain.sessions.session_summary import NewSession
from quorum.domain.text.output import Text
from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.storage import (
    list_storage_paths,
    open_record,
    open_storage,
    remove_abandoned_outputs,
)
from quorum.infrastructure.storage_backend import accepts_url, describe_urls, load_backends
from tests.support.fake_storage import FakeStorage

BACKEND = """
from quorum.infrastructure.storage_backend import StorageBackend
from tests.support.fake_storage import FakeStorage

BACKEND = StorageBackend(
    scheme="{scheme}",
    url_form="the URL of a memory, memory:NAME",
    accepts=lambda url: len(url) > 7,
    open=lambda url, environ, blobs: FakeStorage(lambda: 0),
    list_files=lambda url, environ: [],
)
"""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder whose packages are found as those in `infrastructure/store/` are."""
    folder = tmp_path / "packages"
    folder.mkdir()
    monkeypatch.setattr(
        quorum.infrastructure.store, "__path__", [*quorum.infrastructure.store.__path__, str(folder)]
    )
    load_backends.cache_clear()
    yield folder
    load_backends.cache_clear()
    for name in [name for name in sys.modules if name.startswith("quorum.infrastructure.store.added")]:
        del sys.modules[name]


def add_package(folder: Path, name: str, backend: str | None) -> None:
    (folder / name).mkdir()
    (folder / name / "__init__.py").touch()
    if backend is not None:
        (folder / name / "backend.py").write_text(backend)


def test_a_package_with_a_backend_is_all_that_a_storage_needs(packages: Path, tmp_path: Path) -> None:
    add_package(packages, "added_memory", BACKEND.format(scheme="memory"))
    add_package(packages, "added_part", None)
    table = StorageTable(url="memory:one", blobs=str(tmp_path / "outputs"))

    assert sorted(load_backends()) == ["memory", "postgresql+psycopg", "sqlite"]
    assert accepts_url("memory:one")
    assert not accepts_url("memory:")
    assert describe_urls() == (
        "the URL of an SQLite file, sqlite:///PATH or the address of a PostgreSQL database, "
        "postgresql+psycopg://USER@HOST/NAME or the URL of a memory, memory:NAME"
    )
    assert isinstance(open_storage(table, {}), FakeStorage)
    assert list_storage_paths(table, {}) == [tmp_path / "outputs"]
    with pytest.raises(ConfigError, match=r"'mysql'; sessions can be kept in: .*, memory"):
        open_storage(StorageTable(url="mysql://host/sessions"), {})


@pytest.mark.parametrize("backend", ["BACKEND = 'sqlite'", BACKEND.format(scheme="sqlite")])
def test_a_backend_that_is_none_or_takes_the_scheme_of_another_is_a_programming_error(
    backend: str, packages: Path
) -> None:
    add_package(packages, "added_wrongly", backend)

    with pytest.raises(TypeError, match=r"backend.BACKEND must be a StorageBackend with a scheme of its own"):
        load_backends()


def test_the_backends_are_known_before_a_database_library_is_loaded() -> None:
    libraries = {"sqlalchemy", "sqlite3", "psycopg", "alembic"}
    code = f"import sys, quorum.infrastructure.config.schema; print({libraries} & set(sys.modules))"

    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"


@pytest.mark.parametrize("url", ["sqlite:ledger", "sqlite://host/ledger", "mysql:///ledger", "ledger", ":///"])
def test_a_url_that_no_backend_takes_is_refused_by_the_settings(url: str) -> None:
    assert not accepts_url(url)


async def test_a_database_file_is_opened_where_the_url_says(tmp_path: Path) -> None:
    table = StorageTable(url=f"sqlite:///{tmp_path}/sessions", blobs=str(tmp_path / "outputs"))

    storage = open_storage(table, {})

    assert await storage.archive.list_sessions() == ()
    assert storage.notices == ()
    blobs = storage.open_blobs()
    assert blobs is not None
    assert await blobs.load(await blobs.store(Text("one"))) == Text("one")
    storage.close()
    assert {path.name for path in list_storage_paths(table, {})} >= {"sessions", "outputs"}


def test_a_scheme_that_nothing_is_known_of_is_an_error_that_names_those_that_are() -> None:
    with pytest.raises(ConfigError, match="'mysql'; sessions can be kept in: sqlite"):
        open_storage(StorageTable(url="mysql://host/sessions"), {})


def test_outputs_that_cannot_be_looked_into_are_left_alone(tmp_path: Path) -> None:
    remove_abandoned_outputs(StorageTable(blobs=f"{tmp_path}/{'a' * 300}"), {})  # too long for the kernel


async def test_a_session_that_cannot_be_recorded_still_keeps_its_large_outputs(tmp_path: Path) -> None:
    (tmp_path / "in the way").touch()
    table = StorageTable(url=f"sqlite:///{tmp_path}/in the way/ledger.sqlite", blobs=str(tmp_path / "outputs"))

    record = open_record(table, {}, NewSession(), cwd=str(tmp_path))
    blobs = record.storage.open_blobs()
    assert blobs is not None
    blob_id = await blobs.store(Text("one"))
    await record.release()

    assert not record.outlives
    assert [file.stem for file in (tmp_path / "outputs").iterdir()] == [blob_id]
