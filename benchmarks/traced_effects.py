"""What guards say that everyday commands do, next to what the kernel sees them do.

    .venv/bin/python benchmarks/traced_effects.py [TEXT] [--within N]

Runs the harmless commands of `traced_effects.txt`, or those that hold TEXT, in a folder of their own under
strace, each in a fresh copy, with a server on this machine for those that fetch. Prints each path that is read,
written or deleted, and each connection, that the effects of the command do not name, and each one named that is
not seen. A command whose effects say that a part of it is not known is counted apart. With `--within`, N of
them are run in the shell's constructs in place of all by themselves: in loops, functions, subshells, texts of
other shells. Which ones is the same each time.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from quorum.domain.review.effects.reduction import reduce_command
from quorum.domain.review.effects.side_effect import EffectKind
from quorum.infrastructure.execution.shell.script import read_script
from tests.support.traced_stage import why_no_tracing

_CALL = re.compile(r"\d+ +(?P<name>\w+)\((?P<rest>.*)\) += (?P<value>-?\d+)")
_UNFINISHED = re.compile(r"(?P<pid>\d+) +(?P<text>.*) <unfinished \.\.\.>")
_RESUMED = re.compile(r"(?P<pid>\d+) +<\.\.\. \w+ resumed>(?P<text>.*)")
_PATH = re.compile(r'(?:(?:AT_FDCWD|\d+)<(?P<folder>[^>]*)>, )?"(?P<path>(?:\\.|[^"\\])*)"')
_WRITING = re.compile(r"\bO_(WRONLY|RDWR|CREAT|TRUNC|APPEND)\b")
_CREATES = frozenset({"mkdir", "mkdirat", "truncate", "creat", "mknod", "mknodat"})
_REMOVES = frozenset({"unlink", "unlinkat", "rmdir"})
_LINKS = frozenset({"rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat"})
_PASSING = re.compile(
    r"(^|/)(\.git|__pycache__)(/|$)|(^|/)((sed|sort|XX|st)\w{6}|zi\w{6}|tmp[\w.]*|0+|\.#.*)$"
    r"|(\.tmp|\.lock|-journal|~|\.o\w{6}|\.sw[px])$"
)
"""What programs keep for themselves, and files that they make for a moment."""

_FILES = {
    "src/app.py": "import os\n\ndef main():\n    print('hello', os.name)\n\nmain()\n",
    "src/util.py": "def add(a, b):\n    return a + b  # TODO: check\n",
    "src/web/index.js": "console.log('x')\n",
    "docs/guide.md": "# Guide\n\nfoo bar\n\nfoo again\n",
    "docs/notes.txt": "one\ntwo\nthree\nfour\n",
    "data.csv": "name,age\nann,3\nbob,5\n",
    "more.csv": "name,age\neve,7\n",
    "list.txt": "docs/guide.md\ndata.csv\n",
    "config.json": '{"name": "app", "version": "1.0.0"}\n',
    "Makefile": "all: out.txt\n\nout.txt: data.csv\n\tsort data.csv > out.txt\n\nclean:\n\trm -f out.txt\n",
    "run.sh": "#!/bin/sh\ncat data.csv > copied.csv\n",
    "old/a.log": "a\n",
    "old/b.log": "b\n",
    "empty/.keep": "",
}
_USED = ("data.csv", "docs/guide.md", "src/util.py")
_KINDS = (EffectKind.READ, EffectKind.WRITE, EffectKind.DELETE, EffectKind.CONNECT)


@dataclass(frozen=True)
class _Seen:
    """Paths below the folder by what was done to them, and whether anything was connected to."""

    paths: dict[EffectKind, frozenset[str]]
    is_connected: bool


def list_commands(port: int) -> Iterator[str]:
    """Each command once for each file that it is about; `\\n` in the list is the end of a line."""
    lines = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()
    for line in lines:
        for file in _USED if "FILE" in line else _USED[:1]:
            yield line.replace("FILE", file).replace("PORT", str(port)).replace("\\n", "\n")


_CONSTRUCTS = (
    "if true; then COMMAND; fi",
    "if false; then true; else COMMAND; fi",
    "for each in 1; do COMMAND; done",
    "case x in x) COMMAND ;; esac",
    "(COMMAND)",
    "{ COMMAND; }",
    "true && COMMAND",
    "false || COMMAND",
    "! COMMAND",
    "work() { COMMAND; }; work",
    "cd . && COMMAND",
    "LEVEL=1; COMMAND",
    "(COMMAND) | cat",
    "(COMMAND) 2>&1 | head -50",
    "printed=$(COMMAND); echo done",
    "sh -c TEXT",
    "bash -c TEXT name",
    "eval TEXT",
    "env LEVEL=1 bash -c TEXT",
    "timeout 30 bash -c TEXT",
    "echo 1 | while read each; do COMMAND; done < /dev/null; true && COMMAND",
    "bash <<'END'\nCOMMAND\nEND",
    "zsh -fc TEXT",
    "dash -c TEXT",
    'x=TEXT; eval "$x"',
    'x=TEXT; sh -c "$x"',
    "printf '%s\\n' TEXT | sh",
    "bash -s <<< TEXT",
    "echo TEXT > s.sh; sh s.sh",
    "flock lk -c TEXT",
    "script -qc TEXT /dev/null",
    "trap TEXT EXIT; true",
    "find . -maxdepth 0 -exec sh -c TEXT \\;",
    "xargs -I% sh -c TEXT <<< 1",
    "while true; do COMMAND; break; done",
    "{ COMMAND; } > /dev/null 2>&1",
    "setsid -w bash -c TEXT",
    "cat <<'E' | bash\nCOMMAND\nE",
    "set -e\nCOMMAND\necho done",
    "cd docs && cd .. && COMMAND",
    "bash -c 'eval \"$1\"' _ TEXT",
    "coproc { COMMAND; }; wait",
    "COMMAND & wait",
)


def list_commands_within(port: int, count: int) -> Iterator[str]:
    """So many of them in a construct of the shell, each another one; those of several lines are left out."""
    plain = [command for command in dict.fromkeys(list_commands(port)) if "\n" not in command]
    both = [(command, construct) for command in plain for construct in _CONSTRUCTS]
    for command, construct in random.Random(20).sample(both, min(count, len(both))):
        yield construct.replace("COMMAND", command).replace("TEXT", shlex.quote(command))


def _make_stage(root: Path) -> Path:
    stage = root / "stage"
    for name, text in _FILES.items():
        path = stage / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (stage / "run.sh").chmod(0o755)
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run(["git", *words], cwd=stage, env=_build_environment(root), check=True)
    return stage


def _build_environment(root: Path) -> dict[str, str]:
    names = {
        f"GIT_{who}_{what}": "a@b.example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    (root / "home").mkdir(exist_ok=True)
    kept = {name: os.environ[name] for name in ("PATH",)}
    return {**kept, **names, "HOME": str(root / "home"), "TMPDIR": str(root), "LC_ALL": "C.UTF-8"}


def _trace(command: str, root: Path, stage: Path) -> _Seen:
    log, workspace = root / "log", root / "work"
    shutil.rmtree(workspace, ignore_errors=True)
    shutil.rmtree(root / "copy", ignore_errors=True)
    shutil.rmtree(root / "wt", ignore_errors=True)
    shutil.copytree(stage, workspace, symlinks=True)
    words = ["strace", "-f", "-y", "-s", "4096", "-e", "trace=file,network,process", "-o", str(log)]
    subprocess.run(
        [*words, "bash", "-c", command],
        cwd=workspace,
        env=_build_environment(root),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return _read_log(log, workspace)


def _read_log(log: Path, workspace: Path) -> _Seen:
    waiting: dict[str, str] = {}
    folders: dict[str, str] = {}
    paths: dict[EffectKind, set[str]] = {kind: set() for kind in _KINDS}
    is_connected = False
    for line in log.read_text(errors="replace").splitlines():
        if begun := _UNFINISHED.fullmatch(line):
            waiting[begun["pid"]] = begun["text"]
            continue
        if ended := _RESUMED.fullmatch(line):
            line = f"{ended['pid']} {waiting.pop(ended['pid'], '')}{ended['text']}"
        call = _CALL.match(line)
        if call is None:
            continue
        if call["name"] == "connect" and "sin_addr" in call["rest"]:
            is_connected = True
        if int(call["value"]) < 0:
            continue
        process = line.partition(" ")[0]
        folder = folders.get(process, str(workspace))
        if call["name"] == "chdir" and (found := _PATH.match(call["rest"])):
            folders[process] = os.path.join(folder, found["path"])
        for kind, path in _list_touched(call["name"], call["rest"], str(workspace), folder):
            if path != "." and not _PASSING.search(path) and not (workspace / path).is_dir():
                paths[kind].add(path)
    return _Seen({kind: frozenset(found) for kind, found in paths.items()}, is_connected)


def _list_touched(name: str, rest: str, workspace: str, place: str) -> Iterator[tuple[EffectKind, str]]:
    named = [os.path.join(found["folder"] or place, found["path"]) for found in _PATH.finditer(rest)]
    inside = [os.path.relpath(path, workspace) for path in named if path.startswith(f"{workspace}/")]
    if not inside:
        return
    if name in ("open", "openat") and "O_DIRECTORY" not in rest:
        yield (EffectKind.WRITE if _WRITING.search(rest) else EffectKind.READ), inside[0]
    elif name in _CREATES:
        yield EffectKind.WRITE, inside[0]
    elif name in _REMOVES:
        yield EffectKind.DELETE, inside[0]
    elif name in _LINKS:
        if name.startswith("rename"):
            yield EffectKind.DELETE, inside[0]
        yield EffectKind.WRITE, inside[-1]


def _name_said(command: str, root: Path) -> dict[EffectKind, set[str]]:
    said: dict[EffectKind, set[str]] = {kind: set() for kind in (*_KINDS, EffectKind.UNKNOWN)}
    for effect in reduce_command(command, read_script, (str(root / "work"),)):
        if effect.kind in said:
            said[effect.kind].add((effect.place or effect.does).strip("\"'").removeprefix("./").rstrip("/"))
    return said


def _fits(path: str, said: str) -> bool:
    """Whether what is said covers a path: it itself, a folder above it, or a pattern that it fits."""
    if said in (".", "*") or "$" in said or path == said or path.startswith(f"{said}/"):
        return True
    pattern = re.escape(said).replace(r"\*", ".*").replace(r"\?", ".").replace(r"\{\}", ".*")
    return re.fullmatch(rf"(.*/)?{pattern}(/.*)?", path) is not None


def _compare(seen: _Seen, said: Mapping[EffectKind, set[str]], kind: EffectKind) -> tuple[set[str], set[str]]:
    """What is missed, and what is said and not seen.

    A copy into what may be a folder is said for both; what is moved is said to be read, and is not opened.
    """
    missed = {path for path in seen.paths[kind] if not any(_fits(path, each) for each in said[kind])}
    others = frozenset[str]() if kind is not EffectKind.READ else frozenset().union(*seen.paths.values())
    is_seen = {
        each: any(_fits(path, each) for path in (*seen.paths[kind], *others))
        for each in said[kind]
        if not each.startswith(("/", "~", "$"))
    }
    invented = {
        each
        for each, found in is_seen.items()
        if not found
        and not is_seen.get(each.rpartition("/")[0], False)
        and not any(is_seen[other] for other in is_seen if other.startswith(f"{each}/"))
    }
    return missed, invented


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"ok\n")

    do_POST = do_PUT = do_HEAD = do_GET

    def log_message(self, *_: object) -> None:
        """Nothing: the standard method prints each request."""


def main(part: str, within: int) -> None:
    """Print what effects miss and what they invent."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(os.path.realpath(folder))
        stage = _make_stage(root)
        port = server.server_port
        for command in list_commands_within(port, within) if within else dict.fromkeys(list_commands(port)):
            if part not in command:
                continue
            counts["commands"] += 1
            seen, said = _trace(command, root, stage), _name_said(command, root)
            unknown = said.pop(EffectKind.UNKNOWN)
            counts["commands that say what is unknown of them"] += bool(unknown)
            for kind in _KINDS[:3]:
                missed, invented = _compare(seen, said, kind)
                counts[f"{kind}: seen"] += len(seen.paths[kind])
                counts[f"{kind}: missed{' by a command that says so' if unknown else ''}"] += len(missed)
                counts[f"{kind}: said and not seen"] += len(invented)
                if (missed and not unknown) or invented:
                    print(f"{command!r}: {kind}: missed {sorted(missed)}, said and not seen {sorted(invented)}")
            counts["connect: seen"] += seen.is_connected
            if not unknown and seen.is_connected != bool(said[EffectKind.CONNECT]):
                counts["connect: missed" if seen.is_connected else "connect: said and not seen"] += 1
                print(f"{command!r}: connect: seen {seen.is_connected}")
    server.shutdown()
    for name, count in counts.items():
        print(f"{name}: {count}")


if __name__ == "__main__":
    if (reason := why_no_tracing()) is not None:
        sys.exit(f"commands cannot be watched: {reason}")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", default="", metavar="TEXT")
    parser.add_argument("--within", type=int, default=0, metavar="N")
    given = parser.parse_args()
    main(given.part, given.within)
