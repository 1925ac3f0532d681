"""Programs are looked up in one place, lest one is started that a command of a model may write."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOOKUP = "application/program_lookup.py"
FILES = sorted(
    path.relative_to(ROOT).as_posix()
    for package in ("domain", "application", "infrastructure", "tui", "quorum")
    for path in (ROOT / package).rglob("*.py")
)
# They look a program up by its name, or open an address with one that they look up.
LOOKING = frozenset({"which", "execvp", "execvpe", "execlp", "execlpe", "posix_spawnp", "system", "popen"})
STARTING = frozenset(
    {"run", "Popen", "call", "check_call", "check_output", "create_subprocess_exec", "open_program"}
)
SHELLS = frozenset({"create_subprocess_shell", "getoutput", "getstatusoutput", "spawnvp", "spawnlp"})
# What is found has one of these words before it: the others need not be parsed, which takes long.
WORDS = re.compile(
    rf"\b(?:{'|'.join(sorted(LOOKING | SHELLS | STARTING - {'run'}))}|subprocess\.run)\(|webbrowser"
)


def name_function(call: ast.Call) -> str:
    match call.func:
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            return f"{module}.{name}"
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def find_bare_name(call: ast.Call) -> str | None:
    """The program that a call starts by a name that is written there."""
    first = call.args[0] if call.args else None
    if isinstance(first, ast.List | ast.Tuple) and first.elts:
        first = first.elts[0]
    is_bare = isinstance(first, ast.Constant) and isinstance(first.value, str) and "/" not in first.value
    return str(first.value) if is_bare and isinstance(first, ast.Constant) else None


def find_lookups(code: str) -> Iterator[str]:
    if WORDS.search(code) is None:
        return
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            named = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if "webbrowser" in (*named, *(alias.name for alias in node.names)):
                yield f"line {node.lineno}: webbrowser"
        if not isinstance(node, ast.Call):
            continue
        whole = name_function(node)
        name = whole.rpartition(".")[2]
        is_system = whole in ("os.system", "os.popen") or name not in ("system", "popen")
        if (name in LOOKING and is_system) or name in SHELLS:
            yield f"line {node.lineno}: {whole}"
        elif name not in STARTING or (name == "run" and whole != "subprocess.run"):
            continue
        elif (program := find_bare_name(node)) is not None:
            yield f"line {node.lineno}: {whole} of {program}"
        elif any(word.arg == "shell" and not is_false(word.value) for word in node.keywords):
            yield f"line {node.lineno}: {whole} with a shell"


def is_false(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is False


def test_no_other_module_looks_programs_up_by_their_names() -> None:
    found = {file: [*find_lookups((ROOT / file).read_text(encoding="utf-8"))] for file in FILES}

    assert not {file: places for file, places in found.items() if places and file != LOOKUP}


@pytest.mark.parametrize(
    "code",
    [
        *("import shutil\nshutil.which('git')", "from shutil import which\nwhich(name)", "os.execvp(a, b)"),
        *("subprocess.run(['git', 'status'])", "subprocess.Popen(('gh',))", "import webbrowser"),
        *("asyncio.create_subprocess_exec('git')", "open_program(('rg', pattern))", "os.system(line)"),
        *("subprocess.run(line, shell=True)", "asyncio.create_subprocess_shell(line)"),
    ],
)
def test_such_a_lookup_is_found(code: str) -> None:
    assert [*find_lookups(code)]


@pytest.mark.parametrize(
    "code",
    ["subprocess.run((found, 'x'))", "open_program(words)", "platform.system()", "self.run('a')"],
)
def test_what_starts_a_path_is_none(code: str) -> None:
    assert not [*find_lookups(code)]
