"""What holds for all tests: which are long, and that their folders have short paths, whatever TMPDIR is.

A Unix socket's path has at most 103 bytes on macOS, whose TMPDIR takes half of that, and a screen of 80 columns
shows a long path in two lines.
"""

from __future__ import annotations

import gc
import os
import tempfile
from asyncio.base_subprocess import BaseSubprocessTransport
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tests.support.examples  # registers the profile before the command line chooses one  # noqa: F401
from quorum.infrastructure.tools import built_in_tools as _table  # screens draw calls by what it knows  # noqa: F401
from tests.support.left_watches import close_watches, note_watches
from tests.support.long_tests import LONG_TESTS, may_have_long_tests
from tests.support.parsed_styles import share_parsed_styles

if TYPE_CHECKING:  # most tests need neither database nor bucket
    from tests.support.bucket_server import BucketForTests
    from tests.support.postgres_server import PostgresForTests

_LONGEST_TEMPORARY_FOLDER = 20

# The tests that were imported stay, and each app that ends leaves tens of thousands of objects in cycles: with
# the usual threshold of 700 new objects, looking for cycles takes a third of the time of tests of the screen.
_NEW_OBJECTS_BETWEEN_COLLECTIONS = 20_000

if len(tempfile.gettempdir()) > _LONGEST_TEMPORARY_FOLDER and os.access("/tmp", os.W_OK | os.X_OK):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", "/tmp")  # where pytest puts its folders


_start_process, _describe_process = BaseSubprocessTransport.__init__, BaseSubprocessTransport.__repr__


def _start_with_test(process: BaseSubprocessTransport, *args: object, **options: object) -> None:
    _start_process(process, *args, **options)  # type: ignore[arg-type]
    process._extra["test"] = os.environ.get("PYTEST_CURRENT_TEST")


def _describe_with_test(process: BaseSubprocessTransport) -> str:
    program = process.get_extra_info("subprocess")
    return f"{_describe_process(process)} of {program and program.args} in {process.get_extra_info('test')}"


# A process that a test leaves open is found when cycles are collected, in whatever test runs by then.
BaseSubprocessTransport.__init__ = _start_with_test  # type: ignore[method-assign]
BaseSubprocessTransport.__repr__ = _describe_with_test  # type: ignore[method-assign]


note_watches()


@pytest.hookimpl(trylast=True)  # after the fixtures, which may close them themselves
def pytest_runtest_teardown() -> None:
    """Leave no queue of events of the system to the next test."""
    close_watches()


def pytest_sessionstart() -> None:
    """Collect no cycles while the tests are imported: nothing of that is garbage."""
    gc.disable()
    share_parsed_styles()


def pytest_collection_finish() -> None:
    """Collect cycles again, among what the tests make alone and less often."""
    gc.enable()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS_BETWEEN_COLLECTIONS, *gc.get_threshold()[1:])


@pytest.hookimpl(optionalhook=True)  # without xdist nobody asks
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Have `-n auto` mean more workers than there are cores.

    For a third of the time, quick tests only wait; long ones for more: dialogs and limits take their time.
    """
    return (os.cpu_count() or 1) + (1 if config.option.markexpr == "not long" else 2)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Have `make test-long` import no file that has none of its tests."""
    if config.option.markexpr != LONG_TESTS or collection_path.suffix != ".py":
        return None
    return None if may_have_long_tests(collection_path) else True


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Take the marker `long(after=n)` from the first n cases of a test: these also belong to `make test`."""
    seen: Counter[str] = Counter()
    named: set[Path] = set()
    for item in items:
        marker = item.get_closest_marker("long")
        if marker is not None and item.path not in named:
            named.add(item.path)
            if not may_have_long_tests(item.path):
                raise pytest.UsageError(f"{item.path} has a long test and does not name mark.long")
        if marker is None or "after" not in marker.kwargs:
            continue
        test = item.nodeid.split("[", 1)[0]
        seen[test] += 1
        if seen[test] <= marker.kwargs["after"]:
            item.own_markers = [mark for mark in item.own_markers if mark.name != "long"]


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresForTests]:
    """A PostgreSQL of the tests' own; each test makes its databases in it."""
    from tests.support.postgres_server import remove_postgres, start_postgres

    server = start_postgres()
    yield server
    remove_postgres(server)


@pytest.fixture(scope="session")
def bucket() -> Iterator[BucketForTests]:
    """An object store of the tests' own; each test takes a prefix of its own in its bucket."""
    from tests.support.bucket_server import run_bucket_server

    with run_bucket_server() as server:
        yield server
