"""Servers as people install them, in the sandbox where there is one. ruff is there wherever the tests are; the
others are looked for on PATH, and in the folders of QUORUM_TEST_LANGUAGE_SERVERS."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from quorum.infrastructure.language_servers.lookups import Lookup
from tests.infrastructure.language_servers.lsp_bench import LspBench, a_bench
from tests.infrastructure.sandbox.sandbox_bench import needs_bubblewrap

_PATH = os.pathsep.join(
    (os.environ.get("QUORUM_TEST_LANGUAGE_SERVERS", ""), os.environ.get("PATH", os.defpath))
)
_HERE = (sys.prefix, sys.base_prefix)


def find_server(name: str) -> str:
    found = shutil.which(name, path=_PATH)
    if found is None:
        pytest.skip(f"{name} is not installed: put it on PATH, or its folder into QUORUM_TEST_LANGUAGE_SERVERS")
    if name == "tsc":
        version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
        if int(re.findall(r"\d+", version)[0]) < 7:
            pytest.skip(f"this is {version.strip()}: TypeScript is a language server from version 7 on")
    return found


def find_folders(program: str) -> list[str]:
    """What the sandbox has to show of a server that lies in a folder of somebody's own."""
    real = Path(program).resolve()
    package = next((each for each in real.parents if each.name == "node_modules"), Path(program).parent.parent)
    return [*_HERE, str(package)]


@contextmanager
def listen() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


RUFF = str(Path(sys.executable).parent / "ruff")


async def test_ruff_tells_what_an_edit_broke(tmp_path: Path) -> None:
    async with a_bench(
        tmp_path, command=(RUFF, "server"), readable=find_folders(RUFF), sandbox="auto"
    ) as bench:
        bench.write("a.py", "import os\n")

        assert await bench.edit("a.py", "import os\n\nprint(nope)\n") == [
            "a.py:3: error: Undefined name `nope` (Ruff F821)"
        ]
        assert await bench.edit("a.py", "import os\n") == []
        assert "F401" in await bench.ask(Lookup.DIAGNOSTICS, "a.py")


@needs_bubblewrap
async def test_a_server_in_the_sandbox_reads_the_workspace_and_changes_nothing(tmp_path: Path) -> None:
    probe = (
        "import os, socket, sys\n"
        "home = os.path.expanduser('~')\n"
        "for name, do in {\n"
        "  'reads': lambda: open('a.py').read(),\n"
        "  'writes': lambda: open('new.py', 'w'),\n"
        "  'changes': lambda: open('a.py', 'a'),\n"
        "  'secret': lambda: open('.env').read() or 1 / 0,\n"
        "  'home': lambda: open(home + '/private').read(),\n"
        "  'own home': lambda: open(home + '/x', 'w'),\n"
        "  'network': lambda: socket.create_connection(('127.0.0.1', int(sys.argv[1])), 1),\n"
        "}.items():\n"
        "  try: do(); print(name, 'yes', file=sys.stderr, end='; ')\n"
        "  except Exception as error: print(name, 'no', file=sys.stderr, end='; ')\n"
        "print(file=sys.stderr)\n"
    )
    home = tmp_path / "home"
    home.mkdir()
    (home / "private").write_text("mine\n")
    environ = {"HOME": str(home), "PATH": os.environ["PATH"]}
    with listen() as port:
        bench = LspBench(
            home,
            command=(sys.executable, "-c", probe, str(port)),
            environ=environ,
            readable=_HERE,
            sandbox="require",
        )
        bench.write("a.py", "x = 1\n")
        bench.write(".env", "KEY=1\n")
        (failure,) = await bench.edit("a.py", "x = 2\n")
        await bench.servers.aclose()

    assert "reads yes; writes no; changes no; secret no; home no; own home yes; network no" in failure
    assert sorted(os.listdir(bench.root)) == [".env", "a.py"]
    assert (bench.root / "a.py").read_text() == "x = 2\n"


PROJECT = {
    "a.py": """\
def total(x: int) -> int:
    return x


class Box:
    def grow(self) -> int:
        return total(1)
""",
    "b.py": """\
from a import Box, total

box = Box()
print(box.grow(), total(3))  # 😀
""",
    "a.ts": """\
export function total(x: number): number {
  return x;
}
export class Box {
  grow() { return total(1); }
}
""",
    "b.ts": """\
import { Box, total } from './a';
const box = new Box();
console.log(box.grow(), total(3));
""",
    "a.c": """\
int total(int x) { return x; }
int main(void) { return total(3); }
""",
}


@pytest.mark.long
@pytest.mark.parametrize(
    ("program", "words", "languages", "names"),
    [
        ("pyright-langserver", ["--stdio"], ["python"], ("a.py", "b.py")),
        ("basedpyright-langserver", ["--stdio"], ["python"], ("a.py", "b.py")),
        ("pylsp", [], ["python"], ("a.py", "b.py")),
        ("typescript-language-server", ["--stdio"], ["typescript"], ("a.ts", "b.ts")),
        ("tsc", ["--lsp", "--stdio"], ["typescript"], ("a.ts", "b.ts")),
        ("clangd", [], ["c"], ("a.c", "a.c")),
    ],
)
async def test_a_server_of_people_finds_definitions_references_and_what_an_edit_broke(
    tmp_path: Path, program: str, words: list[str], languages: list[str], names: tuple[str, str]
) -> None:
    server, (declares, uses) = find_server(program), names
    async with a_bench(
        tmp_path,
        command=(server, *words),
        languages=tuple(languages),
        readable=find_folders(server),
        sandbox="auto",
        start_timeout_secs=120.0,
        timeout_secs=120.0,
        wait_secs=60.0,
    ) as bench:
        for name in names:
            bench.write(name, PROJECT[name])
        if languages == ["typescript"]:
            bench.write("tsconfig.json", '{"compilerOptions": {"strict": true}}')

        assert f"{declares}:1:" in await bench.ask(Lookup.DEFINITION, uses, "total")
        references = await bench.ask(Lookup.REFERENCES, declares, "total")
        assert f"{declares}:1:" in references
        assert f"{uses}:" in references
        hover = await bench.ask(Lookup.HOVER, uses, "total")
        assert "total" in hover
        assert re.search("int|number", hover)
        assert "function total" in await bench.ask(Lookup.SYMBOLS, declares)
        broken = PROJECT[uses].replace("total(3)", "totl(3)")
        found = await bench.edit(uses, broken)
        assert any(line.startswith(f"{uses}:") and "totl" in line for line in found), found
        assert await bench.edit(uses, f"\n\n{broken}") == []
        await bench.edit(uses, PROJECT[uses])
        assert "totl" not in await bench.ask(Lookup.DIAGNOSTICS, uses)
