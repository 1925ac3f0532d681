"""Compiles the tests as pytest does, without importing them: else each worker of a run does it for itself."""

from __future__ import annotations

import compileall
from pathlib import Path

from _pytest.assertion.rewrite import PYC_TAIL, _read_pyc, _rewrite_test, _write_pyc, get_cache_dir


def compile_tests(folder: Path) -> None:
    """Compile what has changed since. An error in a test is shown by the run that follows."""
    for file in sorted(folder.rglob("*.py")):
        if file.name != "conftest.py" and not file.name.startswith(
            "test_"
        ):  # no assertions are rewritten there
            compileall.compile_file(file, quiet=2)
            continue
        compiled = get_cache_dir(file) / f"{file.stem}{PYC_TAIL}"
        if _read_pyc(file, compiled) is None:
            compiled.parent.mkdir(exist_ok=True)
            try:
                stat, code = _rewrite_test(file, None)
            except (SyntaxError, ValueError):
                continue
            _write_pyc(None, code, stat, compiled)


if __name__ == "__main__":
    compile_tests(Path(__file__).parents[1])
