"""Work in a process of its own, which may enter a layer: the one of the tests could not leave it again."""

from __future__ import annotations

import os
import pickle
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from quorum.domain.errors import StagingError
from quorum.infrastructure.staging.entered_layer import EnteredLayer
from quorum.infrastructure.staging.entering import enter_layer

T = TypeVar("T")


def run_forked(work: Callable[[], T]) -> T:
    """What `work` returns in a fork of this process. An error there is raised here, with its trace."""
    reading, writing = os.pipe()
    child = fork_alone()
    if child == 0:
        code = 1
        try:
            os.close(reading)
            try:
                answer: tuple[bool, object] = (True, work())
            except BaseException:  # noqa: BLE001 - told to the parent, whatever it is
                answer = (False, traceback.format_exc())
            with open(writing, "wb") as pipe:
                pickle.dump(answer, pipe)
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with open(reading, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    assert said, "the process said nothing"
    is_fine, value = pickle.loads(said)
    assert is_fine, value
    return value  # type: ignore[no-any-return]


def fork_alone(fork: Callable[[], int] = os.fork) -> int:
    """As `os.fork`. Exporters that earlier tests have given up start a thread in each fork, beside which no
    layer can be entered: here they start none."""
    parent, start = os.getpid(), threading.Thread.start

    def start_in_parent(thread: threading.Thread) -> None:
        if os.getpid() == parent:
            start(thread)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading.Thread, "start", start_in_parent)
        return fork()


def run_in_layer(root: Path, environ: dict[str, str], work: Callable[[EnteredLayer], T]) -> T:
    """What `work` returns in a process that has entered a layer over `root`."""
    return run_forked(lambda: work(enter_layer(root, environ)))


def _explain_no_layers(tmp: Path) -> str:
    workspace, state = tmp / "workspace", tmp / "state"
    workspace.mkdir()
    environ = {"HOME": str(tmp), "XDG_STATE_HOME": str(state)}

    def enter() -> str:
        try:
            enter_layer(workspace.resolve(), environ)
        except StagingError as error:
            return str(error)
        return ""

    return run_forked(enter)


@pytest.fixture(scope="session")
def layers(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skips the test where the system allows no layers."""
    if why := _explain_no_layers(tmp_path_factory.mktemp("layers")):
        pytest.skip(why)
