"""Whatever fails while quorum starts: it ends with one sentence and an exit code, and never waits for ever."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.headless_run import environment, run
from tests.support.terminal import Terminal

# An interpreter runs `sitecustomize` first, and there a failure can be planted in the installed program.
PLANT = """
import sys

class Planted:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise {error}

sys.meta_path.insert(0, Planted())
"""
ERRORS = {
    "ImportError('no such symbol: tree')": "quorum: a part of quorum cannot be loaded: ",
    "RuntimeError('planted')": "quorum: the session could not be opened: RuntimeError: planted ",
    "MemoryError()": "quorum: there is not enough memory",
}
MODULES = ["quorum.infrastructure.container", "quorum.settings", "quorum.domain.errors"]


@pytest.fixture
def planted(tmp_path: Path, module: str, error: str) -> dict[str, str]:
    folder = tmp_path / "planted"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(PLANT.format(module=module, error=error))
    return {"PYTHONPATH": str(folder)}


CASES = [(module, error) for module in MODULES[:2] for error in list(ERRORS)[:2]] + [
    ("quorum.domain.errors", "ImportError('no such symbol: tree')"),
    ("quorum.settings", "MemoryError()"),
]


@pytest.mark.long(after=2)
@pytest.mark.parametrize(("module", "error"), CASES)
async def test_a_headless_run_ends_with_a_sentence(
    tmp_path: Path, planted: dict[str, str], module: str, error: str
):
    ended = await run("hello", cwd=tmp_path, env=environment(tmp_path, **planted))

    assert (ended.code, ended.out) == (2, "")
    (line,) = ended.err.splitlines()
    assert line.startswith(ERRORS[error])


@pytest.mark.long
@pytest.mark.parametrize(("module", "error"), CASES)
def test_the_app_ends_with_a_sentence(tmp_path: Path, planted: dict[str, str], module: str, error: str):
    with Terminal(tmp_path, tmp_path, rows=30, columns=120, arguments=[], variables=planted) as terminal:
        terminal.wait_for(ERRORS[error])
        assert terminal.ended() == 2
