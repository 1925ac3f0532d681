"""Code in Python as effects, by its syntax tree: which data its names hold, and which calls they reach.

Names are followed without regard to the order of statements and to conditions, so data may be seen to reach a
call that they do not. Nothing is run.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterable, Sequence

from quorum.domain.review.effects.database_files import only_shows
from quorum.domain.review.effects.noted_names import NotedNames
from quorum.domain.review.effects.places import find_secret, is_local, is_metadata
from quorum.domain.review.effects.python_calls import (
    COPIES,
    DECODES,
    DELETES,
    EXECUTES,
    KEEPS,
    LEADS_PROGRAMS,
    MOVES,
    OPENS,
    OPENS_PATH,
    RUNS_CODE,
    RUNS_FILES,
    TYPED,
    change_path,
    decode_text,
    find_read,
    find_saved,
    judge_call,
    judge_calls,
    judge_endless_loop,
    judge_for,
    may_make_address,
    name_archive,
    name_saved,
    opens_to_write,
    spells_letters,
)
from quorum.domain.review.effects.python_texts import TextBuilder, find_folder
from quorum.domain.review.effects.secret_owners import drop_usual_keys
from quorum.domain.review.effects.side_effect import (
    NO_DATA,
    Data,
    DataKind,
    Datum,
    EffectKind,
    SideEffect,
    find_kind,
)
from quorum.domain.review.effects.surroundings import CommandReduction
from quorum.domain.review.hazards.inline_code import add_children, list_nodes, read_python
from quorum.domain.secrets.patterns import is_secret_name

_LONGEST = 8_192
_MOST_NODES = 20_000
_UNKNOWN = "$x"
_HTTP = re.compile(
    r"(requests|httpx|urllib3|aiohttp|urllib\.request|http\.client|pycurl|grequests|treq|urllib2|urllib)\b"
)
_HTTP_CALL = re.compile(
    r"(get|post|put|patch|delete|head|request|urlopen|Request|urlretrieve|send|stream|fetch|"
    r"HTTPConnection|HTTPSConnection|open)"
)
_FETCHES = re.compile(
    r"(get|post|request|urlopen|urlretrieve|recv|recvfrom|fetch|retrbinary|download_file|"
    r"wget\.download|getresponse)"
)
_SHELL = re.compile(
    r"(os\.(system|popen)|subprocess\.(run|call|check_call|check_output|Popen|getoutput|"
    r"getstatusoutput)|commands\.getoutput|asyncio\.create_subprocess_\w+|pty\.spawn|"
    r"os\.(exec|spawn)\w+|pexpect\.\w+|sh\.\w+|invoke\.run|os\.startfile)"
)
_SENDS = re.compile(
    r"(send|sendall|sendto|sendmail|send_message|storbinary|storlines|put_object|upload_\w+|"
    r"upload|files_upload\w*|send_document|send_photo|chat_postMessage|putfo|publish|cse|"
    r"exec_command|write_message|emit|put_nowait)"
)
_SENDS_FILE = re.compile(r"(upload_file|put|upload_from_filename|fput_object|send_file|files_upload\w*|upload)")
_MACHINE = re.compile(
    r"(platform\.\w+|socket\.(gethostname|getfqdn|gethostbyname)|getpass\.getuser|"
    r"os\.(uname|getlogin|listdir|walk|scandir|getcwd|getuid)|glob\.i?glob|psutil\.\w+|"
    r"uuid\.getnode|pwd\.\w+)"
)
_ENCODES = re.compile(
    r"(b64encode|b32encode|hexlify|hex|encode|decode|dumps|join|compress|read|readlines|"
    r"readline|strip|format|replace|str|bytes|list|dict|tuple|text|content|json|splitlines|"
    r"split)"
)
_SHOWS = re.compile(r"(print|pprint|sys\.(stdout|stderr)\.write|logging\.\w+|log(ger)?\.\w+|os\.write)")
_INPUTS = frozenset({"sys.stdin", "input", "os.read", "sys.__stdin__"})
_SHOWS_OUTPUT = re.compile(r"os\.system|subprocess\.(run|call|check_call|Popen)|os\.(exec|spawn)\w+")
_TEXT_OF_PATH = re.compile(
    r"(pathlib\.)?(Path|PurePath|PosixPath)|os\.path\.(join|expanduser|expandvars|abspath|"
    r"realpath|normpath)|str|glob\.i?glob|os\.(listdir|scandir|walk)|io\.StringIO|bytes|"
    r"bytearray"
)
_BRANCHES = (
    *(ast.For, ast.While, ast.If, ast.With, ast.Try, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
    *(ast.AsyncFor, ast.AsyncWith, ast.Match, ast.comprehension, ast.NamedExpr, ast.Lambda),
)
_NAMING = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef)
_ACTING = (
    *(ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.AugAssign, ast.For, ast.comprehension, ast.withitem),
    *(ast.Call, ast.Return, ast.While),
)
"""Of all nodes few set names, and few do something."""
_TEXTUAL = (
    *(ast.Constant, ast.Name, ast.BinOp, ast.JoinedStr, ast.FormattedValue, ast.Starred, ast.Await),
    *(ast.Subscript, ast.Call),
)
"""What may be a text."""
_WRITES = frozenset({"write", "writelines", "writestr", "writerow", "add", "dump"})


def reduce_python(text: str, around: CommandReduction, depth: int = 0, incoming: Data = NO_DATA) -> Data | None:
    """Hand the effects to `around`, and return what the code prints. None where it cannot be read as Python.

    `incoming` is what the code can read from its input.
    """
    if (nodes := read_python(text)) is None:
        return None
    try:
        return _PythonCode(nodes[:_MOST_NODES], around, depth, incoming).reduce()
    except (ValueError, RecursionError, MemoryError):
        return None


class _PythonCode:
    def __init__(self, nodes: Sequence[ast.AST], around: CommandReduction, depth: int, incoming: Data) -> None:
        self._around = around
        self._incoming = incoming
        self._depth = depth
        self._nodes = nodes
        self._imported: dict[str, str] = {}
        self._texts = NotedNames[str]()
        self._held = NotedNames[Data]()
        self._opened = NotedNames[str]()
        self._parameters: dict[str, list[str]] = {}
        self._known: dict[int, Data] = {}
        self._names: dict[int, str] = {}
        self._inner: dict[int, list[ast.expr]] = {}
        self._busy: set[int] = set()
        self._output: Data = NO_DATA
        self._is_socket = self._may_make_address = False
        self._star = ""
        self._databases: set[str] = set()
        self._archives: set[str] = set()
        self._streams = False
        self._lists = NotedNames[ast.expr]()
        self._builder = TextBuilder(self._find_text, self._lists.find)

    def reduce(self) -> Data:
        for node in self._nodes:
            if isinstance(node, _NAMING):
                self._import(node)
        self._may_make_address = may_make_address(self._nodes)
        self._is_socket = any(name.startswith("socket") for name in self._imported.values())
        self._streams = "asyncio" in self._imported and any(
            isinstance(node, ast.Attribute) and node.attr == "open_connection" for node in self._nodes
        )
        acting = [node for node in self._nodes if isinstance(node, _ACTING)]
        before = len(self._around.list_files()), len(self._imported)
        for node in acting:
            self._visit(node)
        notes = (self._texts, self._held, self._opened, self._lists)
        came_late = any(each.came_late for each in notes)
        came_late |= before != (len(self._around.list_files()), len(self._imported))
        if came_late and any(isinstance(node, _BRANCHES) for node in self._nodes):
            self._known.clear()  # what a loop or a later function holds may reach what is above
            for node in acting:
                self._visit(node)
        self._reduce_whole()
        return self._output

    # ---------------------------------------------------------------- names

    def _import(self, node: ast.AST) -> None:
        match node:
            case ast.Import(names=names):
                self._run_modules(*(each.name for each in names))
                self._imported.update({each.asname or each.name: each.name for each in names})
            case ast.ImportFrom(module=str(module), names=[ast.alias(name="*")]):
                self._run_modules(module)
                self._star = module
            case ast.ImportFrom(module=str(module), names=names):
                self._run_modules(module)
                self._imported.update({each.asname or each.name: f"{module}.{each.name}" for each in names})
            case ast.FunctionDef(name=name, args=given) | ast.AsyncFunctionDef(name=name, args=given):
                self._parameters[name] = [each.arg for each in given.args]
            case _:
                return

    def _run_modules(self, *names: str) -> None:
        files = (self._around.find_file(f"{name.replace('.', '/')}.py") for name in names)
        self._around.run_data(each for file in files if file for each in file.data)

    def _find_name(self, node: ast.expr) -> str:
        """A dotted name, with what imports stand for; `?` stands for what is not a name."""
        if (known := self._names.get(id(node))) is not None:
            return known
        root, attributes = node, list[str]()
        while isinstance(root, ast.Attribute):
            attributes.insert(0, root.attr)
            root = root.value
        if isinstance(root, ast.Name):
            name = self._names[id(node)] = ".".join((self._imported.get(root.id, root.id), *attributes))
            return name
        return ".".join((self._find_name_of_result(root), *attributes))

    def _find_name_of_result(self, node: ast.expr) -> str:
        match node:
            case ast.Call(func=func, args=[ast.expr() as module, *_]) if self._is_import(func):
                return self._find_text(module) or "?"
            case ast.Call(func=ast.Name(id="getattr"), args=[owner, ast.expr() as name, *_]):
                return f"{self._find_name(owner)}.{self._find_text(name) or '?'}"
            case _:
                return "?"

    def _is_import(self, func: ast.expr) -> bool:
        return self._find_name(func) in ("__import__", "importlib.import_module", "import_module")

    # ---------------------------------------------------------------- texts

    def _find_text(self, node: ast.expr) -> str | None:
        """What is known of a text; a part that is not known is a variable."""
        match node:
            case ast.Name(id=name):
                return self._texts.find(name)
            case ast.Constant(value=str(text)):
                return text[:_LONGEST]
            case ast.Constant(value=bytes(raw)):
                return raw[:_LONGEST].decode("latin-1")
            case ast.Constant() | ast.Attribute():  # most that is neither is one of these
                return None
            case ast.Call(func=ast.Attribute(value=owner, attr=method), args=args):
                return self._find_text_of_method(node, owner, method, args)
            case ast.Call(func=func, args=[_, *_]):
                return self._find_text_of_function(node, func)
            case ast.BinOp(left=left, op=ast.Mod()):
                pattern = self._find_text(left)
                return None if pattern is None else re.sub(r"%[sdr]", _UNKNOWN, pattern)
            case ast.BinOp():
                return self._join_texts(node)
            case ast.JoinedStr(values=values):
                return "".join(self._find_text(each) or _UNKNOWN for each in values)[:_LONGEST]
            case ast.FormattedValue(value=inner) | ast.Starred(value=inner) | ast.Await(value=inner):
                return self._find_text(inner)
            case ast.Subscript(value=value, slice=ast.Slice(lower=None, upper=None, step=ast.UnaryOp())):
                forwards = self._find_text(value)
                return None if forwards is None else forwards[::-1]
            case _:
                return find_folder(node, self._find_name)

    def _find_text_of_function(self, node: ast.Call, func: ast.expr) -> str | None:
        name = self._find_name(func)
        if (text := self._builder.spell(name, node.args)) is not None:
            return text[:_LONGEST]
        if _TEXT_OF_PATH.fullmatch(name):
            return "/".join(self._find_text(each) or _UNKNOWN for each in node.args)[:_LONGEST]
        return find_folder(node, self._find_name)

    def _join_texts(self, node: ast.BinOp) -> str | None:
        if not isinstance(node.op, ast.Add | ast.Div):
            return None
        parts = (self._find_text(node.left), self._find_text(node.right))
        joint = "/" if isinstance(node.op, ast.Div) else ""
        return None if parts == (None, None) else joint.join(each or _UNKNOWN for each in parts)[:_LONGEST]

    def _find_text_of_method(
        self, node: ast.Call, owner: ast.expr, method: str, args: list[ast.expr]
    ) -> str | None:
        name = self._find_name(node.func)
        if folder := find_folder(node, self._find_name):
            return folder
        if DECODES.fullmatch(method) and args and (text := self._find_text(args[0])) is not None:
            return decode_text(method, text)
        if _TEXT_OF_PATH.fullmatch(name) and args:
            return "/".join(self._find_text(each) or _UNKNOWN for each in args)[:_LONGEST]
        if method in ("joinpath", "glob", "rglob", "iterdir"):
            parts = [self._find_text(owner), *map(self._find_text, args), *(() if args else ("*",))]
            return "/".join(each or _UNKNOWN for each in parts)[:_LONGEST]
        if method == "join":
            return (self._builder.join(owner, args) or "")[:_LONGEST] or None
        text = self._find_text(owner)
        if text is None:
            return None
        given = [self._find_text(each) for each in args]
        if (changed := change_path(method, text, next(iter(given), None))) is not None:
            return changed[:_LONGEST]
        if method == "replace" and len(given) > 1 and None not in given:
            return text.replace(given[0] or "", given[1] or "")[:_LONGEST]
        if method == "format":
            return re.sub(r"\{[^}]*\}", _UNKNOWN, text)
        if method in ("decode", "encode", "strip", "expanduser", "resolve", "absolute", "as_posix", "lower"):
            return text
        return None

    # ---------------------------------------------------------------- data

    def _find_data(self, node: ast.AST | None) -> Data:
        match node:
            case None | ast.Constant():
                return NO_DATA
            case ast.Name(id=name):
                return (self._held.find(name) or NO_DATA) | self._find_own_data(self._imported.get(name, name))
            case ast.Call():
                return self._call(node)
            case ast.Attribute(value=value):
                return self._find_own_data(self._find_name(node)) | self._find_data(value)
            case ast.Subscript(value=value, slice=key) if self._find_name(value) == "os.environ":
                return self._find_variable(key)
            case ast.Lambda(body=body):
                return self._find_data(body)
            case ast.FunctionDef() | ast.ClassDef():
                return NO_DATA
            case _:
                children: list[ast.AST] = []
                add_children(node, children)
                return NO_DATA.union(*map(self._find_data, children)) if children else NO_DATA

    def _find_own_data(self, name: str) -> Data:
        if name == "os.environ":
            return frozenset({Datum(DataKind.ENVIRONMENT, "os.environ")})
        return self._incoming if name in _INPUTS else NO_DATA

    def _find_variable(self, node: ast.expr) -> Data:
        name = self._find_text(node) or ""
        return frozenset({Datum(DataKind.SECRET, f"${name}")}) if is_secret_name(name) else NO_DATA

    def _hold(self, target: ast.expr, data: Data, text: str | None = None) -> None:
        match target:
            case ast.Name(id=name):
                if data:
                    self._held.note(name, self._held.known.get(name, NO_DATA) | data)
                if text is not None:
                    self._texts.note(name, text)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                for each in targets:
                    self._hold(each, data, text)
            case ast.Attribute(value=value) | ast.Subscript(value=value) | ast.Starred(value=value):
                self._hold(value, data)
            case _:
                return

    # ---------------------------------------------------------------- statements

    def _visit(self, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._assign(target, value)
            case (
                ast.AnnAssign(target=target, value=ast.expr() as value)
                | ast.NamedExpr(target=target, value=value)
            ):
                self._assign(target, value)
            case ast.AugAssign(target=target, value=value):
                self._hold(target, self._find_data(value))
            case ast.For(target=target, iter=source) | ast.comprehension(target=target, iter=source):
                self._hold_each(target, source)
                if isinstance(node, ast.For):
                    self._add_all(judge_for(node))
            case ast.withitem(context_expr=source, optional_vars=ast.expr() as target):
                self._assign(target, source)
            case ast.Call():
                self._call(node)
            case ast.Return(value=value):
                self._held.note("return", self._held.known.get("return", NO_DATA) | self._find_data(value))
            case ast.While(test=ast.Constant(value=(True | 1))):
                inner = [each for part in node.body for each in list_nodes(part)]
                self._add_all(judge_endless_loop(node, self._list_calls(inner), inner))
            case _:
                return

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        self._hold(target, self._find_data(value), self._find_text(value))
        if isinstance(target, ast.Name):
            self._note_value(target.id, value)
        if isinstance(target, ast.Subscript) and self._find_name(target.value) == "os.environ":
            name = self._find_text(target.slice) or ""
            if name in LEADS_PROGRAMS:
                self._add(EffectKind.PERSIST, f"changes {name}, by which other programs find what they run")

    def _note_value(self, name: str, value: ast.expr) -> None:
        """Note the file, the words or the module that a name stands for."""
        if isinstance(value, ast.List | ast.Tuple):
            self._lists.note(name, value)
        elif isinstance(value, ast.Call) and (path := self._find_opened(value)):
            self._opened.note(name, path)
        elif isinstance(value, ast.Call) and value.args and self._is_import(value.func):
            self._imported[name] = self._find_text(value.args[0]) or "?"
            self._names.clear()

    def _hold_each(self, target: ast.expr, source: ast.expr) -> None:
        texts = (
            [self._find_text(each) for each in source.elts] if isinstance(source, ast.List | ast.Tuple) else []
        )
        grave = next((text for text in texts if text and find_secret(text)), next(iter(texts), None))
        if grave is None and (folder := self._find_text(source)):
            grave = f"{folder}/{_UNKNOWN}" if not folder.endswith("*") else folder
        self._hold(target, self._find_data(source), grave)

    # ---------------------------------------------------------------- calls

    def _call(self, node: ast.Call) -> Data:
        if (known := self._known.get(id(node))) is not None:
            return known
        if id(node) in self._busy:
            return NO_DATA
        self._busy.add(id(node))
        data = self._reduce_call(node)
        self._busy.discard(id(node))
        self._known[id(node)] = data
        return data

    def _reduce_call(self, node: ast.Call) -> Data:
        name = self._find_name(node.func)
        if self._star and "." not in name and name not in self._parameters:
            name = f"{self._star}.{name}"
        last = name.rpartition(".")[2]
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        values = (*node.args, *(each.value for each in node.keywords))
        given = NO_DATA.union(*map(self._find_data, values))
        held = self._find_data(owner)
        first = self._find_text(node.args[0]) if node.args else None
        if (own := self._call_own(node, name, owner)) is not None:
            return given | own
        if owner is None:
            given |= self._held.find(name) or NO_DATA  # of a function that is put together
        self._add_all(judge_call(name, node, first))
        if _SHELL.fullmatch(name):
            return self._start(node, name, given)
        if name in RUNS_CODE or name in RUNS_FILES:
            return self._run(node, given, first)
        if (used := self._use_file(node, name, owner, given, held)) is not None:
            return used
        if name in ("os.getenv", "os.environ.get") and node.args:
            return self._find_variable(node.args[0])
        if name in _INPUTS or TYPED.fullmatch(name):
            return (
                self._incoming
                if name in _INPUTS
                else frozenset({Datum(DataKind.SECRET, f"the data of {last}")})
            )
        if _SHOWS.fullmatch(name):
            self._output |= given
            return NO_DATA
        self._delete(node, name, owner, first)
        self._keep(node, name, owner, given, held)
        return self._reach_network(node, name, last, given, held, first) | self._find_machine_data(name)

    def _use_file(
        self, node: ast.Call, name: str, owner: ast.expr | None, given: Data, held: Data
    ) -> Data | None:
        """What a call returns that opens, reads or moves files; None where it does none of these."""
        last = name.rpartition(".")[2]
        if (saved := find_saved(name, node)) and (path := self._find_text(saved)):
            self._around.write_file(name_saved(name, path), given | held)
        if (path := self._find_opened(node)) is not None:
            return self._open(node, path, last) | (self._incoming if self._opens_input(node, path) else NO_DATA)
        if (read := find_read(name, node)) and (path := self._find_text(read)):
            return self._around.read_file(path)
        if name in COPIES:
            return self._copy(node)
        if last in ("rename", "replace") and len(node.args) == 1 and owner and (path := self._find_text(owner)):
            self._move(path, self._find_text(node.args[0]), self._around.read_file(path))
            return given
        return None

    def _delete(self, node: ast.Call, name: str, owner: ast.expr | None, first: str | None) -> None:
        if name in DELETES:
            path = first
        elif owner is not None and name.rpartition(".")[2] in ("unlink", "rmdir") and not node.args:
            path = self._find_text(owner)
        else:
            return
        self._add(EffectKind.DELETE, f"deletes {path or _UNKNOWN}", path or _UNKNOWN)
        if isinstance(node.func, ast.Call):
            self._add(EffectKind.HARM, f"deletes {path or 'files'} by a name that is put together", path or "")

    def _keep(self, node: ast.Call, name: str, owner: ast.expr | None, given: Data, held: Data) -> None:
        """Take data that are put into files and into what names stand for."""
        last = name.rpartition(".")[2]
        if (owner is not None and last in _WRITES) or name in ("json.dump", "pickle.dump"):
            self._write(node, owner, given | held)
        if owner is not None and last in KEEPS:
            self._hold(owner, given)
        if last in EXECUTES and self._databases:
            statement = self._find_text(node.args[0]) if node.args else None
            if last == "to_sql" or statement is None or not only_shows(statement):
                for database in self._databases:
                    self._around.write_file(database, NO_DATA)
        if last in ("extractall", "extract"):
            folder = self._find_text(node.args[0]) if node.args else None
            self._around.write_file((folder or ".").rstrip("/") + "/", held)

    def _call_own(self, node: ast.Call, name: str, owner: ast.expr | None) -> Data | None:
        """What a function of the code itself returns; None where it is none."""
        is_own = owner is None or self._find_name(owner) == "self"
        parameters = self._parameters.get(name.rpartition(".")[2]) if is_own else None
        if parameters is None:
            return None
        for parameter, value in zip(parameters, node.args, strict=False):
            self._hold(ast.Name(parameter), self._find_data(value), self._find_text(value))
        return self._held.find("return") or NO_DATA

    def _find_machine_data(self, name: str) -> Data:
        return frozenset({Datum(DataKind.MACHINE, f"Python's {name}")}) if _MACHINE.fullmatch(name) else NO_DATA

    def _reach_network(
        self, node: ast.Call, name: str, last: str, given: Data, held: Data, first: str | None
    ) -> Data:
        is_http = bool(_HTTP.match(name) and _HTTP_CALL.fullmatch(last))
        address = self._find_address(node)
        is_connected = last in ("request", "post", "patch") and any(map(_HTTP.match, self._imported.values()))
        is_client = (
            is_http
            or is_connected
            or (last in ("post", "put", "get", "patch", "request") and "://" in (address or ""))
        )
        is_stream = self._streams and last == "write" and name.partition(".")[0] not in ("sys", "?")
        sends = is_stream or (_SENDS.fullmatch(last) is not None and name != "sys.stdout.send")
        connects = self._is_socket and last in ("connect", "create_connection", "connect_ex")
        if is_client or connects or name == "asyncio.open_connection":
            self._add(EffectKind.CONNECT, f"connects to {address or first or 'another machine'}", address or "")
        if (is_client or sends) and (given | held):
            sent = self._drop_keys(node, given, address or "") | (held if sends else NO_DATA)
            self._around.send(sent, address or "another machine")
        if (
            _SENDS_FILE.fullmatch(last)
            and first
            and ("/" in first or "." in first)
            and "://" not in first
            and not is_http
        ):
            self._around.send(self._around.read_file(first), address or "another machine")
        if name in ("socket.gethostbyname", "socket.getaddrinfo", "dns.resolver.resolve") and given:
            self._around.send(given, address or "a name server")
        if is_metadata((address or "").partition("://")[2]):
            return frozenset({Datum(DataKind.SECRET, address or "")})
        if (
            (is_client and _FETCHES.fullmatch(last))
            or (last.startswith("recv") and self._is_socket)
            or name == "wget.download"
        ):
            fetched = (
                frozenset({Datum(DataKind.FETCHED, address or "the network")})
                if not is_local(address or "")
                else NO_DATA
            )
            if (
                last in ("urlretrieve", "download")
                and len(node.args) > 1
                and (path := self._find_text(node.args[1]))
            ):
                self._around.write_file(path, fetched)
            return given | held | fetched
        if DECODES.fullmatch(last) or spells_letters(node):
            return given | held | frozenset({Datum(DataKind.DECODED, f"Python's {last}")})
        return given | held

    def _drop_keys(self, node: ast.Call, given: Data, address: str) -> Data:
        """The data of a request without the keys in its headers that may be those of the service."""
        others = (*node.args, *(each.value for each in node.keywords if each.arg not in ("headers", "auth")))
        return given & (NO_DATA.union(*map(self._find_data, others)) | drop_usual_keys(given, address))

    def _find_address(self, node: ast.Call) -> str | None:
        if not self._may_make_address:
            return None
        inner = self._inner.get(id(node))
        if inner is None:
            inner = self._inner[id(node)] = [each for each in list_nodes(node) if isinstance(each, _TEXTUAL)]
        texts = map(self._find_text, inner)
        return next((text for text in texts if text and "://" in text), None)

    def _find_opened(self, node: ast.Call) -> str | None:
        """The path that a call opens, reads or writes."""
        name = self._find_name(node.func)
        last = name.rpartition(".")[2]
        if name in OPENS:
            return (self._find_text(node.args[0]) if node.args else None) or _UNKNOWN
        if last in OPENS_PATH and isinstance(node.func, ast.Attribute):
            text = self._find_text(node.func.value)
            return text if text and "://" not in text else None
        return None

    def _opens_input(self, node: ast.Call, path: str) -> bool:
        is_number = bool(node.args) and isinstance(node.args[0], ast.Constant) and node.args[0].value == 0
        return is_number or not node.args or path in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")

    def _open(self, node: ast.Call, path: str, last: str) -> Data:
        modes = [self._find_text(each) for each in node.args[1:2]]
        modes += [self._find_text(each.value) for each in node.keywords if each.arg == "mode"]
        if last in ("write_text", "write_bytes", "touch", "symlink_to"):
            text = self._find_text(node.args[0]) if node.args else None
            self._around.write_file(path, NO_DATA.union(*map(self._find_data, node.args)), text)
            return NO_DATA
        if (name := self._find_name(node.func)) == "sqlite3.connect":
            self._databases.add(path)
        elif any(set(mode or "") & set("wax+") for mode in modes) or opens_to_write(name, node):
            if name == "zipfile.ZipFile":
                self._archives.add(path)
            self._around.write_file(path, NO_DATA)
            return NO_DATA
        return self._around.read_file(path)

    def _write(self, node: ast.Call, owner: ast.expr | None, data: Data) -> None:
        target = (
            node.args[1]
            if owner is None or (self._find_name(owner) in ("json", "pickle") and len(node.args) > 1)
            else owner
        )
        path = self._opened.find(target.id) if isinstance(target, ast.Name) else None
        if isinstance(target, ast.Call):
            path = self._find_opened(target)
        if path is not None:
            text = self._find_text(node.args[0]) if node.args else None
            puts = ("add", "write") if path in self._archives else ("add",)
            if text is not None and isinstance(node.func, ast.Attribute) and node.func.attr in puts:
                data |= self._around.read_file(text)  # into an archive
            self._around.write_file(path, data, text)

    def _copy(self, node: ast.Call) -> Data:
        paths = [self._find_text(each) for each in node.args[:3]]
        if self._find_name(node.func) == "shutil.make_archive":
            data = self._around.read_file((paths[2] if len(paths) > 2 else ".") or _UNKNOWN)
            self._around.write_file(name_archive(paths), data)
            return data
        data = self._around.read_file(paths[0]) if paths and paths[0] else NO_DATA
        if paths and paths[0] and self._find_name(node.func) in MOVES:
            self._move(paths[0], paths[1] if paths[1:] else None, data)
        elif len(paths) > 1 and paths[1]:
            self._around.write_file(paths[1], data)
        return data

    def _move(self, path: str, target: str | None, data: Data) -> None:
        if target:
            self._around.write_file(target, data)
        self._around.write_file(path, NO_DATA)
        self._add(EffectKind.DELETE, f"moves {path} away", path)

    def _run(self, node: ast.Call, given: Data, first: str | None) -> Data:
        if self._find_name(node.func) in RUNS_FILES:
            paths = (text for text in map(self._find_text, node.args) if text)
            self._around.run_data(NO_DATA.union(*map(self._around.read_file, paths)))
            return given
        self._around.run_data(given)
        if first is not None and self._depth < 4:
            if find_kind(given, DataKind.DECODED) is None and node.args and isinstance(node.args[0], ast.Name):
                given |= self._held.find(node.args[0].id) or NO_DATA
            self._output |= reduce_python(first, self._around, self._depth + 1, self._incoming) or NO_DATA
        return given

    def _start(self, node: ast.Call, name: str, given: Data) -> Data:
        """Take a program that is started, and return what it prints."""
        first = node.args[0] if node.args else None
        started = first.elts[:1] if isinstance(first, ast.List | ast.Tuple) else [first]
        self._around.run_data(NO_DATA.union(*map(self._find_data, started)))
        printed = self._around.run_shell(self._find_command(node, name), given, through="Python")
        if not {each.arg for each in node.keywords} & {"capture_output", "stdout"} and _SHOWS_OUTPUT.fullmatch(
            name
        ):
            self._output |= printed
        return printed

    def _find_command(self, node: ast.Call, name: str) -> str:
        if not node.args:
            return ""
        first = node.args[0]
        if isinstance(first, ast.Name):
            first = self._lists.find(first.id) or first
        if isinstance(first, ast.List | ast.Tuple):
            words = [self._find_text(each) or _UNKNOWN for each in first.elts]
            return " ".join(word if _UNKNOWN in word else shlex.quote(word) for word in words)
        if re.fullmatch(r"os\.(exec|spawn)\w+|asyncio\.create_subprocess_exec", name):
            texts = [self._find_text(each) for each in node.args]
            return " ".join(shlex.quote(each) for each in texts[:1] + texts[2:] if each)
        return self._find_text(first) or _UNKNOWN

    def _reduce_whole(self) -> None:
        names = self._list_calls(self._nodes)
        texts = [each.value for each in self._nodes if isinstance(each, ast.Constant)]
        known = [each for each in texts if isinstance(each, str)]
        self._add_all(judge_calls(names, known, is_socket=self._is_socket))

    def _list_calls(self, nodes: Iterable[ast.AST]) -> set[str]:
        return {self._find_name(each.func) for each in nodes if isinstance(each, ast.Call)}

    def _add_all(self, effects: Iterable[SideEffect]) -> None:
        for effect in effects:
            self._around.add(effect)

    def _add(self, kind: EffectKind, does: str, place: str = "") -> None:
        self._around.add(SideEffect(kind, does, place))
