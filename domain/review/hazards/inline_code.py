"""What code inside a command would do: Python by its syntax tree, other languages by the calls in it."""

from __future__ import annotations

import ast
import re
import shlex
import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec import Struct

from quorum.domain.review.hazards.database import list_deleted_data, list_reached_data
from quorum.domain.review.hazards.files import is_generated, list_written_places, may_hold_something
from quorum.domain.review.hazards.library_calls import read_library_calls
from quorum.domain.review.hazards.places import holds_credentials, is_temporary
from quorum.domain.review.hazards.taken_names import name_functions
from quorum.domain.review.objection import Objection
from quorum.domain.text.python_syntax import parse_module

_DELETES = frozenset(
    {
        "os.remove",
        "os.unlink",
        "os.rmdir",
        "os.removedirs",
        "shutil.rmtree",
        "os.truncate",
        "send2trash.send2trash",
    }
)
_DELETING_METHODS = frozenset({"unlink", "rmtree"})
_RUNS_SHELL = frozenset(
    {"os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput", "commands.getoutput"}
)
_RUNS_WORDS = frozenset(
    {f"subprocess.{name}" for name in ("run", "call", "check_call", "check_output", "Popen")}
    | {"asyncio.create_subprocess_exec", "asyncio.create_subprocess_shell", "pty.spawn"}
)
_ENDS = frozenset({"os.kill", "os.killpg", "signal.pidfd_send_signal"})
_SENDS = frozenset({"post", "put", "patch", "sendall", "send_message", "sendmail", "storbinary"})
_HTTP = (
    "requests.",
    "httpx.",
    "urllib.request.",
    "aiohttp.",
    "http.client.",
    "smtplib.",
    "ftplib.",
    "urllib3.",
)
_DECODES = frozenset({"b64decode", "b32decode", "b85decode", "a85decode", "unhexlify", "fromhex", "decompress"})
_COPIES = frozenset(
    {"shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.move", "os.rename", "os.replace"}
)
_WRITING_METHODS = frozenset({"write_text", "write_bytes", "touch", "mkdir"})
_METHODS_OF_FILES = _WRITING_METHODS | {"read_text", "read_bytes", "close"}
_PATHS = frozenset({"pathlib.Path", "Path", "os.path.join", "os.path.expanduser", "pathlib.PurePath"})
_JAVASCRIPT = ("node", "deno", "bun")
_ANYWHERE = "?"
_LONGEST = 4_096  # characters of a text that is put together: it can be doubled again and again


class NestedShell(Struct, frozen=True):
    """A shell text that other code runs, or that does the same as calls in it."""

    text: str
    is_alike: bool = False


def list_effects_of_python(text: str, *, is_inside: bool = False) -> tuple[Objection | NestedShell, ...] | None:
    """What the code would do, and the shell texts in it. None where it cannot be read as Python.

    `is_inside`: its relative paths are known to be those of the workspace.
    """
    if (nodes := read_python(text)) is None:
        return None
    try:
        return tuple(_CodeReader(nodes, is_inside=is_inside and "chdir" not in text).read())
    except (ValueError, RecursionError, MemoryError):
        return None


@lru_cache(maxsize=4)  # each look at a command reads the same code
def read_python(text: str) -> Sequence[ast.AST] | None:
    """The nodes of the code, those nearer to its whole first. None where it cannot be read as Python."""
    try:
        with warnings.catch_warnings(action="ignore"):  # about the code's escapes: they would be printed
            return list_nodes(parse_module(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def list_nodes(tree: ast.AST) -> Sequence[ast.AST]:
    """What `ast.walk` yields, in a third of its time, but for signs and whether names are read or set."""
    nodes = [tree]
    for node in nodes:
        add_children(node, nodes)
    return nodes


def add_children(node: ast.AST, nodes: list[ast.AST]) -> None:
    """Add what `ast.iter_child_nodes` yields, but for signs and whether names are read or set."""
    kind = type(node)
    if (names := _CHILD_FIELDS.get(kind)) is None:
        names = _CHILD_FIELDS[kind] = [name for name in kind._fields if name not in _PLAIN_FIELDS]
    for name in names:
        child = getattr(node, name, None)
        if isinstance(child, list):
            nodes += [each for each in child if isinstance(each, ast.AST)]
        elif isinstance(child, ast.AST):
            nodes.append(child)


_PLAIN_FIELDS = frozenset(
    {"ctx", "id", "attr", "arg", "asname", "module", "level", "kind", "type_comment", "op"}
)
"""They hold no nodes, or those of signs and of whether a name is read or set."""
_CHILD_FIELDS: dict[type[ast.AST], Sequence[str]] = {}


class _CodeReader:
    """Reads one tree. Names that are set to a text, or to texts joined, are followed; nothing else is."""

    def __init__(self, nodes: Sequence[ast.AST], *, is_inside: bool) -> None:
        self._is_inside = is_inside
        self._nodes = nodes
        self._names: dict[str, str] = {}
        self._values: dict[str, str] = {}
        self._called: set[str] = set()
        self._reads_file = False

    def read(self) -> Iterator[Objection | NestedShell]:
        for node in self._nodes:
            self._note(node)
        calls = [node for node in self._nodes if isinstance(node, ast.Call)]
        for call in calls:
            name = self._find_name(call.func)
            self._called.add(name)
            yield from self._call(name, call)
        yield from self._inspect_together(calls)

    # ---------------------------------------------------------------- names and values

    def _note(self, node: ast.AST) -> None:
        match node:
            case ast.Import(names=names):
                self._names.update({each.asname or each.name: each.name for each in names})
            case ast.ImportFrom(module=str(module), names=names):
                self._names.update({each.asname or each.name: f"{module}.{each.name}" for each in names})
            case ast.Assign(targets=[ast.Name(id=target)], value=value):
                if (text := self._evaluate_text(value)) is not None:
                    self._values[target] = text
            case _:
                return

    def _find_name(self, node: ast.expr) -> str:
        """A dotted name with what imports stand for; `?` in front of methods of what is not a name."""
        attributes: list[str] = []
        while isinstance(node, ast.Attribute):
            attributes.insert(0, node.attr)
            node = node.value
        if isinstance(node, ast.Name):
            return ".".join((self._names.get(node.id, node.id), *attributes))
        if isinstance(node, ast.Call) and self._find_name(node.func) == "__import__" and node.args:
            return ".".join((self._evaluate_text(node.args[0]) or _ANYWHERE, *attributes))
        return ".".join((_ANYWHERE, *attributes))

    def _evaluate_text(self, node: ast.expr) -> str | None:
        """What is known of a text; a part that is not known is `$x`, as in a shell. None: nothing is known."""
        match node:
            case ast.Constant(value=str(text)):
                return text
            case ast.Name(id=name):
                return self._values.get(name)
            case ast.BinOp(left=left, op=ast.Add() | ast.Div(), right=right):
                parts = (self._evaluate_text(left), self._evaluate_text(right))
                joint = "/" if isinstance(node.op, ast.Div) else ""
                joined = joint.join(part or "$x" for part in parts)
                return None if parts == (None, None) else joined[:_LONGEST]
            case ast.JoinedStr(values=values):
                return "".join(self._evaluate_text(each) or "$x" for each in values)[:_LONGEST]
            case ast.FormattedValue(value=value):
                return self._evaluate_text(value)
            case ast.Call(func=func, args=args) if self._find_name(func) in _PATHS and args:
                return "/".join(self._evaluate_text(each) or "$x" for each in args)[:_LONGEST]
            case _:
                return None

    def _evaluate_first(self, call: ast.Call) -> str | None:
        return self._evaluate_text(call.args[0]) if call.args else None

    # ---------------------------------------------------------------- calls

    def _call(self, name: str, call: ast.Call) -> Iterator[Objection | NestedShell]:
        last = name.rpartition(".")[2]
        if name in _DELETES or (last in _DELETING_METHODS and "." in name and not name.startswith("shm")):
            path = self._evaluate_first(call)
            if path is None or not (is_temporary(path) or (self._is_inside and is_generated(path))):
                yield Objection("destructive", f"Python's {name.lstrip('?.')}: it deletes files")
        elif name in _RUNS_SHELL:
            yield NestedShell(self._evaluate_first(call) or "")
        elif name in _RUNS_WORDS:
            yield NestedShell(self._find_command(call))
        elif name in _ENDS or (last in ("kill", "terminate") and "psutil" in self._names.values()):
            yield Objection("destructive", f"Python's {last}: it ends processes")
        elif name in ("open", "io.open", "os.open", "codecs.open"):
            yield from self._open(call)
        elif name in _COPIES:
            yield from self._copy(call)
        elif last in _METHODS_OF_FILES and isinstance(call.func, ast.Attribute):
            yield from self._use_file(last, call, call.func.value)
        elif last in ("execute", "executescript", "executemany") and (statement := self._evaluate_first(call)):
            yield from (*list_deleted_data((statement,)), *list_reached_data((statement,)))
        elif name == "urllib.request.urlretrieve" and len(call.args) > 1:
            yield from self._touch(self._evaluate_text(call.args[1]), writes=True)
        elif name in ("exec", "eval") and call.args:
            yield from self._run(call.args[0])

    def _find_command(self, call: ast.Call) -> str:
        first = call.args[0] if call.args else None
        if isinstance(first, ast.List | ast.Tuple):
            words = [self._evaluate_text(each) or "$x" for each in first.elts]
            return " ".join(word if word == "$x" else shlex.quote(word) for word in words)
        return (self._evaluate_text(first) or "") if first is not None else ""

    def _open(self, call: ast.Call) -> Iterator[Objection]:
        modes = [self._evaluate_text(each) for each in call.args[1:2]]
        modes += [self._evaluate_text(each.value) for each in call.keywords if each.arg == "mode"]
        writes = any(set(mode or "") & set("wax+") for mode in modes)
        self._reads_file = self._reads_file or not writes
        yield from self._touch(self._evaluate_first(call), writes=writes)

    def _use_file(self, last: str, call: ast.Call, owner: ast.expr) -> Iterator[Objection]:
        yield from self._empty(last, call, owner)
        if last != "close":
            yield from self._touch(self._evaluate_text(owner), writes=last in _WRITING_METHODS)

    def _empty(self, last: str, call: ast.Call, owner: ast.expr) -> Iterator[Objection]:
        """Take a file that is opened to be written, and closed again, or gets a text without letters."""
        path: str | None = None
        match last, owner, call.args:
            case "close", ast.Call(args=[ast.expr() as name, ast.Constant(value="w" | "wb" | "w+")]), []:
                path = self._evaluate_text(name)
            case "write_text" | "write_bytes", _, [ast.Constant(value="" | b""), *_]:
                path = self._evaluate_text(owner)
            case _:
                return
        if path is not None and may_hold_something(path):
            yield Objection("destructive", f"Python's {last}: it empties {path}")

    def _copy(self, call: ast.Call) -> Iterator[Objection]:
        paths = [self._evaluate_text(each) for each in call.args[:2]]
        yield from self._touch(paths[0] if paths else None, writes=False)
        yield from self._touch(paths[1] if len(paths) > 1 else None, writes=True)

    def _touch(self, path: str | None, *, writes: bool) -> Iterator[Objection]:
        if path is None:
            return
        if writes:
            yield from list_written_places((path,))
        elif holds_credentials(path):
            yield Objection("secret", f"Python reads {path}, which holds credentials")

    def _run(self, code: ast.expr) -> Iterator[Objection | NestedShell]:
        inner = {
            self._find_name(each.func).rpartition(".")[2]
            for each in ast.walk(code)
            if isinstance(each, ast.Call)
        }
        if inner & (_DECODES | {"loads"}):
            yield Objection("network", "Python's exec: it runs code that is hidden in data")
        elif inner & {"get", "urlopen", "recv"}:
            yield Objection("network", "Python's exec: it runs what it downloads")
        elif (text := self._evaluate_text(code)) is not None:
            yield from list_effects_of_python(text) or ()

    # ---------------------------------------------------------------- what calls do together

    def _inspect_together(self, calls: list[ast.Call]) -> Iterator[Objection]:
        lasts = {name.rpartition(".")[2] for name in self._called}
        imported = " ".join(self._names.values())
        runs = self._called & (_RUNS_SHELL | _RUNS_WORDS) or {"dup2", "exec", "eval"} & lasts
        has_socket = "socket" in imported and {"connect", "accept", "create_connection"} & lasts
        if has_socket and runs:
            yield Objection("network", "Python code gives another machine a shell")
        given = [each.arg for call in calls for each in call.keywords if each.arg in ("data", "files", "json")]
        talks = any(name.startswith(_HTTP) for name in self._called) or has_socket
        sends = bool(lasts & _SENDS) or (bool(given) and talks)
        if self._reads_file and talks and sends:
            yield Objection("network", "Python code sends a file away")
        elif talks and sends and any(map(self._is_environment, self._nodes)):
            yield Objection("network", "Python code sends variables of the environment away")

    def _is_environment(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Attribute | ast.Name) and self._find_name(node) in (
            "os.environ",
            "os.getenv",
        )


_TEXT = r"""(?P<quote>["'`])(?P<text>(?:\\.|(?!(?P=quote))[^\\])*)(?P=quote)"""
_QUOTED = re.compile(_TEXT, re.DOTALL)
_MOST_WORDS = 20
_OTHER_CODE_RUNS_SHELL = re.compile(
    rf"\b(?:system|exec|spawn|popen|shell_exec|passthru|execSync|spawnSync|exec\w*|os\.execute|getline)\s*\(?\s*{_TEXT}",
    re.DOTALL,
)
_BACKTICKS = re.compile(
    r"`((?:\\.|[^`\\])*)`|%x[\{\[(]([^}\])]*)[}\])]|\bqx[\{\[(/]([^}\])/]*)[}\])/]", re.DOTALL
)
_AWK_COMMAND = re.compile(r'"([^"]*)"\s*\|\s*getline|\|\s*"([^"]*)"')
_OTHER_CODE_DELETES = re.compile(
    r"\b(unlink(Sync)?|rmtree|rm_rf?|rmSync|rmdirSync|rmdir|remove_tree|rimraf|remove_entry(_secure)?"
    r"|fs(\.promises)?\.rm|File\.delete|Dir\.(rmdir|delete)|FileUtils\.(rm|remove)\w*|os\.remove|del_tree"
    r"|Remove-Item|removeSync|emptyDirSync|del_dir_r|deleteDir|deleteRecursively|deleteDirectory|removeItem"
    r"|delete-(directory|file)|file(\s+|\.|:)(delete|remove)|Deno\.remove|Sys\.(remove|rmdir))\b"
    r"|\brm\(.{0,200}?\brecursive\b|(?i:(?:^|(?<=[;{|(&\n]))[ \t]{0,20}"
    r"(ri|rm|del|erase|rd|rmdir)\s[^;|\n]{0,200}(?<=\s)-(r|fo)\w*)"
)
# Calls that start programs in languages where the words of a command stand in texts of their own.
_STARTS = re.compile(
    r"\b(call-process|start-process|shell-command|make-process|os:cmd|open_port|system\*?|Sys\.command"
    r"|Unix\.(system|exec\w*|open_process\w*)|System\.(cmd|shell)|do shell script|Process(Builder)?\b"
    r"|getRuntime|run\b|Deno\.(run|Command)|callCommand|callProcess|readProcess|primitive-fork-exec|run-program|subprocess)"
    r"|\.execute\(|\.!"
)
_BARE_COMMAND = re.compile(r"\bexec\s+([^\s\"'`(\[{=][^;\n\]]*)")  # Tcl
_OTHER_CODE_ENDS = re.compile(r"\b(Process\.kill|process\.kill|posix_kill|kill\s+['\"]?(9|KILL|TERM))")
_OPENED = re.compile(
    rf"\b(?:open|readFile\w*|(?:write|append)File\w*|File\.\w+|IO\.\w+|file_\w+_contents|fopen)\s*\(?\s*{_TEXT}"
)
_WRITES = re.compile(
    r"\b(writeFile\w*|appendFile\w*|File\.write|IO\.write|file_put_contents)|['\"](w|a|w\+|a\+|>|>>)['\"]"
)
_OTHER_CODE_DECODES = re.compile(
    r"(?i)\b(b64decode|decode64|base64_decode|atob|unpack|decode_base64|FromBase64String|unhexlify)\b"
)
_RUNS_CODE = re.compile(r"\b(eval|exec|instance_eval|Invoke-Expression|iex|Function)\b")
_SOCKET = re.compile(
    r"\b(TCPSocket|fsockopen|IO::Socket|net\.(Socket|connect)|socket\s*\(|TCPClient|/inet/tcp)"
)
_SHELL = re.compile(r"(/bin/(ba|z|da)?sh|cmd\.exe|\bexec\b|child_process)")


def _list_started(text: str) -> Iterator[str]:
    """The shell texts, and the commands, that calls in the code start."""
    for run in _OTHER_CODE_RUNS_SHELL.finditer(text):
        yield run["text"].strip("`")
    for pattern in (_BACKTICKS, _AWK_COMMAND, _BARE_COMMAND):
        for run in pattern.finditer(text):
            yield next(filter(None, run.groups()), "")
    if _STARTS.search(text):
        words = [found["text"] for found in _QUOTED.finditer(text)][:_MOST_WORDS]
        yield from (*words, " ".join(words))


def list_effects_of_code(text: str, program: str = "") -> Iterator[Objection | NestedShell]:
    """What code that a program runs would do, and the shell texts in it or like it."""
    if program.startswith(_JAVASCRIPT):
        text = name_functions(text)
    calls = read_library_calls(text, program)
    if calls.alike:
        yield NestedShell(calls.alike, is_alike=True)
    yield from map(NestedShell, calls.started)
    text = calls.rest
    yield from map(NestedShell, _list_started(text))
    if deletion := _OTHER_CODE_DELETES.search(text):
        yield Objection("destructive", f"{deletion[0].strip()}: it deletes files")
    if end := _OTHER_CODE_ENDS.search(text):
        yield Objection("destructive", f"{end[0]}: it ends processes")
    if _OTHER_CODE_DECODES.search(text) and _RUNS_CODE.search(text):
        yield Objection("network", "it runs code that is hidden in data")
    if _SOCKET.search(text) and _SHELL.search(text):
        yield Objection("network", "it gives another machine a shell")
    writes = _WRITES.search(text)
    for opened in _OPENED.finditer(text):
        if holds_credentials(opened["text"]):
            yield Objection("secret", f"it reads {opened['text']}, which holds credentials")
        if writes:
            yield from list_written_places((opened["text"],))
    yield from list_deleted_data((text,))
