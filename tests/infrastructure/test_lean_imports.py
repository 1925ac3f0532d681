"""Libraries of which only what is used is imported."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from quorum.infrastructure.lean_imports import import_lazily, standing_in, without

ROOT = Path(__file__).parents[2]
FILES = {
    "__init__.py": """
        from ._hidden import secret
        from .colours import Red, Blue as Azure
        from . import shapes
        from ._version import __version__
        from .stripe import stripe
        from {name}.absolute import Far
        from json import dumps
        from .colours import Green
        Green = Green + "ish"
        from .colours import Green as Dark
        def shade(of=(Dark := "dark")): return of
        def paint(): Red = "painted"; return Red
        __all__ = ["Red", "paint"]
    """,
    "_hidden.py": "secret = 1",
    "_version.py": "__version__ = '1.2'",
    "colours.py": "Red, Blue, Green = 'red', 'blue', 'green'",
    "stripe.py": "def stripe(): return '|||'",
    "absolute.py": "Far = 'far'",
    "unused.py": "",
    "broken.py": "raise ImportError('no such colour')",
    "shapes/__init__.py": """
        from .round import Circle
        from .edged import Square
    """,
    "shapes/round.py": "Circle = 'circle'",
    "shapes/edged.py": "from .. import paint; Square = paint",
    "_private/__init__.py": "from . import inner",
    "_private/inner.py": "",
}


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A library with a name of its own, which is imported lazily."""
    name = f"lazy_library_{abs(hash(request.node.name))}"
    for path, text in FILES.items():
        file = tmp_path / name / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(line.strip() for line in text.replace("{name}", name).splitlines()))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    import_lazily(name)
    return name


def loaded_of(library: str) -> set[str]:
    return {name.removeprefix(library) for name in sys.modules if name.split(".")[0] == library}


def test_a_name_imports_the_module_that_it_comes_from_alone(library: str) -> None:
    package = importlib.import_module(library)
    assert loaded_of(library) == {""}

    assert (package.Red, package.Azure, package.__version__) == ("red", "blue", "1.2")
    assert (package.Far, package.dumps) == ("far", json.dumps)
    assert loaded_of(library) == {"", ".colours", "._version", ".absolute"}


def test_a_package_that_once_could_not_be_run_as_a_whole_is_run_for_whoever_asks_next(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = importlib.import_module(library)

    def run_short(_module: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(importlib, "reload", run_short)
        for _ in range(2):
            with pytest.raises(MemoryError):
                _ = package.paint

    assert package.paint() == "painted"


def test_a_package_within_is_lazy_too_unless_it_is_private(library: str) -> None:
    assert importlib.import_module(library).shapes.Circle == "circle"
    assert loaded_of(library) == {"", ".shapes", ".shapes.round"}

    importlib.import_module(f"{library}._private")
    assert "._private.inner" in loaded_of(library)


@pytest.mark.parametrize(
    ("ask", "answer"),
    [
        (lambda package: package.paint(), "painted"),
        (lambda package: package.Green, "greenish"),
        (lambda package: package.Dark, "dark"),
        (lambda package: package.__all__, ["Red", "paint"]),
        (lambda package: package.shapes.Square(), "painted"),
    ],
    ids=[
        "defined",
        "changed",
        "changed where a function is defined",
        "listed",
        "defined where it is asked from within",
    ],
)
def test_what_a_package_does_not_just_import_runs_its_file(
    library: str, ask: Callable[[object], object], answer: object
) -> None:
    package = importlib.import_module(library)

    assert ask(package) == answer
    assert "._hidden" in loaded_of(library)
    assert sys.modules[library] is package


def test_modules_are_found_whether_or_not_the_file_names_them(library: str) -> None:
    namespace: dict[str, object] = {}
    exec(f"from {library} import unused, Red\nimport {library}.shapes.round as r", namespace)

    assert namespace["Red"] == "red"
    assert loaded_of(library) == {"", ".unused", ".colours", ".shapes", ".shapes.round"}
    assert importlib.import_module(library)._hidden.secret == 1


def test_a_function_hides_the_module_of_its_name_whoever_imported_that(library: str) -> None:
    importlib.import_module(f"{library}.stripe")

    assert importlib.import_module(library).stripe() == "|||"
    assert loaded_of(library) == {"", ".stripe"}


def test_a_name_that_is_nowhere_is_an_error_as_always(library: str) -> None:
    package = importlib.import_module(library)

    assert not hasattr(package, "__wrapped__")
    assert loaded_of(library) == {""}
    assert not hasattr(package, "Purple")
    with pytest.raises(AttributeError, match="Purple"):
        _ = package.Purple
    with pytest.raises(ImportError, match="no such colour"):
        _ = importlib.import_module(f"{library}.broken")


def test_a_module_that_fails_is_an_error_as_always(library: str, tmp_path: Path) -> None:
    (tmp_path / library / "colours.py").write_text("raise ImportError('out of paint')")

    with pytest.raises(ImportError, match="out of paint"):
        _ = importlib.import_module(library).Red


def test_a_library_is_told_to_be_lazy_once(library: str) -> None:
    finders = list(sys.meta_path)
    import_lazily(library)

    assert sys.meta_path == finders


def test_a_module_is_absent_for_the_thread_that_wants_it_so() -> None:
    found: list[bool] = []

    def look() -> None:
        found.append(importlib.util.find_spec("tabnanny") is not None)

    with without("tabnanny"):
        with pytest.raises(ModuleNotFoundError):
            look()
        other = threading.Thread(target=look)
        other.start()
        other.join()
    look()
    assert found == [True, True]


COMPARE = """
import importlib, json, sys
from quorum.infrastructure.lean_imports import import_lazily, _LazyPackage, _read_origins
library = sys.argv[1]
import_lazily(library)
importlib.import_module(sys.argv[2])
compared, different, seen = 0, [], set()
while names := {name for name, each in list(sys.modules.items()) if type(each) is _LazyPackage} - seen:
    for name in names:
        seen.add(name)
        package = sys.modules[name]
        lazy = {each: getattr(package, each) for each in _read_origins(package) if each != "*"}
        compared += len(lazy)
        importlib.reload(package)
        different += [f"{name}.{each}" for each, value in lazy.items() if getattr(package, each) is not value]
print(json.dumps([compared, len(seen), different]))
"""


def test_a_client_of_mcp_loads_no_web_server() -> None:
    transports = "quorum.infrastructure.mcp.stdio_transport, quorum.infrastructure.mcp.http_transport"
    loads = f"import sys, {transports}; print(*sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-c", loads], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    loaded = set(ended.stdout.split())

    assert {"mcp", "mcp.client.auth.oauth2"} <= loaded
    assert not loaded & {"starlette", "uvicorn", "mcp.server"}


@pytest.mark.long
@pytest.mark.parametrize(
    ("sdk", "package", "fewest"),
    [("anthropic", "anthropic.types", 2_000), ("openai", "openai.types", 600), ("mcp", "mcp.client.auth", 50)],
)
def test_each_name_of_an_sdk_means_what_it_means_without_laziness(sdk: str, package: str, fewest: int) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", COMPARE, sdk, package],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    compared, packages, different = json.loads(ended.stdout)

    assert not different
    assert compared > fewest
    assert packages > 2


@pytest.fixture
def named_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A library with a module that names types of a large package, in the ways in which that can be done."""
    files = {
        "__init__.py": "",
        "tracing.py": "from .large import Note\nfrom .large.deep import Box\nBoxed = int | Box[Note]\n"
        "def is_note(value): return isinstance(value, Note)",
        "large/__init__.py": "from .notes import Note",
        "large/notes.py": "class Note: pass",
        "large/deep.py": "from typing import Generic, TypeVar\nclass Box(Generic[TypeVar('T')]): pass",
    }
    for path, text in files.items():
        file = tmp_path / "named_types" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.split(".")[0] == "named_types"]:
        monkeypatch.delitem(sys.modules, name)
    return "named_types"


def test_types_that_nobody_uses_are_named_without_being_loaded(named_types: str) -> None:
    with standing_in("named_types.large"):
        tracing = importlib.import_module("named_types.tracing")

    assert not tracing.is_note(object())
    assert loaded_of(named_types) == {"", ".tracing"}


def test_whoever_imports_a_package_later_has_what_it_holds(named_types: str) -> None:
    with standing_in("named_types.large"):
        importlib.import_module("named_types.tracing")
    large = importlib.import_module("named_types.large")

    assert large.Note is importlib.import_module("named_types.large.notes").Note
    assert importlib.import_module("named_types").large is large


def test_other_threads_import_what_a_package_holds_meanwhile(named_types: str) -> None:
    found = []
    with standing_in("named_types.large"):
        importing = threading.Thread(
            target=lambda: found.append(importlib.import_module("named_types.large").__file__)
        )
        importing.start()
        importing.join(timeout=60)

    assert found != [None]
    assert ".large" in loaded_of(named_types)
