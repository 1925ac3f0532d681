"""Calls of standard libraries in code that is not Python, each as the shell command that does the same.

Texts are followed through names, joined paths and lists. What is not known of a text is `$x`, as in a shell. A
name stands for a text where it can have no other: it is set once, before, and is otherwise only read. Elsewhere
a call is judged by both, the text that the name was set to last and `$x`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias

from msgspec import Struct


class LibraryCall(Struct, frozen=True):
    """Functions of some languages by their names, with the name in front where they would not be plain without.

    `command`: `{0}` is the first argument and `{*}` stands for all of them; or one of the words `run` (a
    command), `paste` (a command whose arguments are no words yet), `source` (a file that is run), `open` (a
    file and how it is opened) and `mode` (a mode and files).
    """

    languages: str
    names: str
    command: str


class LibraryCalls(Struct, frozen=True):
    """The calls in code: one shell text that does the same, the commands that it runs, and the code without the
    names of the functions."""

    alike: str
    started: tuple[str, ...]
    rest: str


_JS = "node deno bun"
LIBRARY_CALLS = (
    # Node 20 (fs, child_process), Deno 1.40, Bun 1.0
    LibraryCall(_JS, "unlink unlinkSync rm rmSync rmdir rmdirSync Deno.remove Deno.removeSync", "rm -r {0}"),
    LibraryCall(_JS, "truncateSync fs.truncate promises.truncate Deno.truncate", "truncate -s {1} {0}"),
    LibraryCall(_JS, "rename renameSync", "mv {0} {1}"),
    LibraryCall(_JS, "copyFile copyFileSync cpSync fs.cp promises.cp Deno.copyFile", "cp -r {0} {1}"),
    LibraryCall(_JS, "symlink symlinkSync link linkSync", "ln -s {0} {1}"),
    LibraryCall(_JS, "chmod chmodSync", "mode"),
    LibraryCall(
        _JS,
        "readFile readFileSync createReadStream Deno.readTextFile Bun.file Deno.readFile readTextFileSync",
        "cat {0}",
    ),
    LibraryCall(_JS, "writeFile writeFileSync createWriteStream writeTextFile Bun.write", "echo > {0}"),
    LibraryCall(_JS, "appendFile appendFileSync", "echo >> {0}"),
    LibraryCall(_JS, "exec execSync execFile execFileSync spawn spawnSync fork Deno.Command", "run"),
    LibraryCall(_JS, "require import", "source"),
    # perlfunc(1) 5.36, File::Path, File::Copy
    LibraryCall("perl", "do require", "source"),
    LibraryCall("perl", "unlink rmdir", "rm {*}"),
    LibraryCall("perl", "rmtree remove_tree", "rm -r {*}"),
    LibraryCall("perl", "truncate", "truncate -s {1} {0}"),
    LibraryCall("perl", "rename move", "mv {0} {1}"),
    LibraryCall("perl", "copy", "cp {0} {1}"),
    LibraryCall("perl", "symlink link", "ln -s {0} {1}"),
    LibraryCall("perl", "chmod", "mode"),
    LibraryCall("perl", "open sysopen IO.File.new", "open"),
    LibraryCall("perl", "system exec", "run"),
    # Ruby 3.2
    LibraryCall(
        "ruby", "File.delete File.unlink Dir.rmdir Dir.delete Dir.unlink FileUtils.rm FileUtils.rm_f", "rm {*}"
    ),
    LibraryCall("ruby", "rm_r rm_rf rmtree remove_dir remove_entry remove_entry_secure", "rm -r {0}"),
    LibraryCall("ruby", "File.truncate", "truncate -s {1} {0}"),
    LibraryCall("ruby", "File.rename FileUtils.mv FileUtils.move", "mv {0} {1}"),
    LibraryCall("ruby", "FileUtils.cp FileUtils.cp_r FileUtils.copy IO.copy_stream", "cp -r {0} {1}"),
    LibraryCall("ruby", "File.symlink File.link FileUtils.ln_s", "ln -s {0} {1}"),
    LibraryCall("ruby", "File.chmod FileUtils.chmod chmod_R", "mode"),
    LibraryCall(
        "ruby", "File.read IO.read File.binread IO.binread File.readlines IO.readlines File.foreach", "cat {0}"
    ),
    LibraryCall("ruby", "File.write IO.write File.binwrite IO.binwrite", "echo >> {0}"),
    LibraryCall("ruby", "File.open File.new", "open"),
    LibraryCall(
        "ruby", "system exec spawn IO.popen Open3.capture2 Open3.capture2e Open3.capture3 PTY.spawn", "run"
    ),
    LibraryCall("ruby", "load require require_relative", "source"),
    # PHP 8.2
    LibraryCall("php", "unlink rmdir", "rm -r {0}"),
    LibraryCall("php", "rename", "mv {0} {1}"),
    LibraryCall("php", "copy", "cp {0} {1}"),
    LibraryCall("php", "symlink link", "ln -s {0} {1}"),
    LibraryCall("php", "chmod", "mode"),
    LibraryCall("php", "file_get_contents readfile file CURLFile highlight_file", "cat {0}"),
    LibraryCall("php", "file_put_contents", "echo >> {0}"),
    LibraryCall("php", "fopen", "open"),
    LibraryCall("php", "system exec shell_exec passthru popen proc_open", "run"),
    LibraryCall("php", "include include_once require require_once", "source"),
    # Lua 5.4
    LibraryCall("lua", "os.remove", "rm {0}"),
    LibraryCall("lua", "os.rename", "mv {0} {1}"),
    LibraryCall("lua", "io.open", "open"),
    LibraryCall("lua", "io.lines", "cat {0}"),
    LibraryCall("lua", "os.execute io.popen", "run"),
    LibraryCall("lua", "dofile loadfile", "source"),
    # R 4.2 with httr
    LibraryCall("r", "unlink", "rm -r {0}"),
    LibraryCall("r", "file.remove", "rm {*}"),
    LibraryCall("r", "file.rename", "mv {0} {1}"),
    LibraryCall("r", "file.copy", "cp {0} {1}"),
    LibraryCall("r", "file.symlink", "ln -s {0} {1}"),
    LibraryCall("r", "readLines readRDS upload_file readChar read_file", "cat {0}"),
    LibraryCall("r", "system", "run"),
    LibraryCall("r", "system2", "paste"),
    LibraryCall("r", "source sys.source", "source"),
    # Julia 1.9
    LibraryCall("julia", "rm", "rm -r {0}"),
    LibraryCall("julia", "mv", "mv {0} {1}"),
    LibraryCall("julia", "cp", "cp -r {0} {1}"),
    LibraryCall("julia", "symlink", "ln -s {0} {1}"),
    LibraryCall("julia", "chmod", "mode"),
    LibraryCall("julia", "read readlines eachline readchomp", "cat {0}"),
    LibraryCall("julia", "open", "open"),
    LibraryCall("julia", "run", "run"),
    LibraryCall("julia", "include", "source"),
    # Go 1.22
    LibraryCall("go", "os.Remove", "rm {0}"),
    LibraryCall("go", "os.RemoveAll", "rm -r {0}"),
    LibraryCall("go", "os.Rename", "mv {0} {1}"),
    LibraryCall("go", "os.ReadFile os.Open ioutil.ReadFile", "cat {0}"),
    LibraryCall("go", "os.WriteFile os.Create os.Truncate ioutil.WriteFile", "echo >> {0}"),
    # Elixir 1.14
    LibraryCall("elixir", "File.rm File.rm! File.rmdir", "rm {0}"),
    LibraryCall("elixir", "File.rm_rf File.rm_rf!", "rm -r {0}"),
    LibraryCall("elixir", "File.rename File.rename!", "mv {0} {1}"),
    LibraryCall("elixir", "File.cp File.cp! File.cp_r File.cp_r!", "cp -r {0} {1}"),
    LibraryCall("elixir", "File.chmod File.chmod!", "mode"),
    LibraryCall("elixir", "File.read File.read! File.stream!", "cat {0}"),
    LibraryCall("elixir", "File.write File.write!", "echo >> {0}"),
    LibraryCall("elixir", "System.cmd System.shell", "run"),
    LibraryCall("elixir", "Code.eval_file Code.require_file", "source"),
)
_LANGUAGES = {
    "nodejs": "node",
    "luajit": "lua",
    "Rscript": "r",
    "R": "r",
    "irb": "ruby",
    "iex": "elixir",
}
_HAVE_BARE_CALLS = frozenset({"perl", "ruby", "php", "lua", "elixir"})
"""Languages that call functions without parentheses."""
_PASS_BY_REFERENCE = frozenset({"perl", "ruby", "php"})
"""Languages in which a function may change a text that it is given."""
_CHANGE_NOTHING = frozenset(
    {
        *("print", "printf", "say", "puts", "p", "echo", "warn", "die", "exit", "mkdir", "mkdir_p", "mkpath"),
        *("exist?", "file?", "directory?", "file_exists", "is_file", "is_dir", "basename", "dirname", "length"),
        *("each", "map", "glob", "close", "size"),
    }
)
_JOINS_PATH = frozenset(
    {"path.join", "path.resolve", "File.join", "joinpath", "file.path", "Path.join", "catfile"}
)
_GIVES_FIRST = frozenset(
    {
        *("expand_path", "path.expand", "Path.expand", "expanduser", "realpath", "path.normalize", "Pathname"),
        *("String", "toString", "escapeshellarg", "glob", "Dir.glob", "Path.wildcard", "download"),
        *("Pathname.new", "URI", "shQuote", "normalizePath", "file.path", "abspath"),
    }
)
_JOINS_LIST = frozenset({"join", "table.concat", "implode", "Enum.join"})
_LEAVE_ARGUMENTS = _CHANGE_NOTHING | _JOINS_PATH | _GIVES_FIRST | _JOINS_LIST
_MAKES_LIST = frozenset({"c", "list", "array"})
_MAKES_TEMPORARY = frozenset(
    {"mkdtempSync", "mkdtemp", "tempdir", "mktmpdir", "mktempdir", "tempfile", "makeTempDir"}
)
_HOME = (
    r"""(?:require\(\s*["'](?:node:)?os["']\s*\)|\bos)\.homedir\(\)|\bprocess\.env(?:\.HOME\b|\[["']HOME["']\])"""
    r"""|\bDir\.home\b(?:\(\))?|\bENV(?:\.fetch)?[\[(]\s*["']HOME["']\s*[\])]|\$ENV\{\s*["']?HOME["']?\s*\}"""
    r"""|\b(?:(?:os|Sys|System|Deno\.env)\.)?(?:getenv|get_env|get)\(\s*["']HOME["']\s*\)"""
    r"""|\$_(?:SERVER|ENV)\[\s*["']HOME["']\s*\]|\bhomedir\(\)|\bSystem\.user_home!?(?:\(\))?"""
)
_HOME_IN_BRACES = re.compile(rf"[#$]\{{\s*(?:{_HOME})\s*\}}|\{{\s*\$_(?:SERVER|ENV)\[\s*'HOME'\s*\]\s*\}}")
_HOME_ANYWHERE = re.compile(rf"(\"(?:\\.|[^\"\\])*\")|{_HOME}", re.DOTALL)
_HOME_IN_TEXT = re.compile(r"\$ENV\{\s*HOME\s*\}")
_TOKEN = re.compile(
    r"""
      (?P<space>[ \t\r]+)
    | (?P<words>%w[\[({<][^\])}>]{0,2000}[\])}>]|\bqw\s*[\[({/][^\])}/]{0,2000}[\])}/])
    | (?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`)
    | (?P<name>
        (?:(?:::|->|\?\.|\.(?!\.))[A-Za-z_]\w*|&?[$@%]?[A-Za-z_]\w*)
        (?:(?:::|->|\?\.|\.)[A-Za-z_]\w*)*[!?]?
      )
    | (?P<number>\d\w*)
    | (?P<sign>\.\.|<-|\+=|\.=|<>|=>|==|=~|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT = re.compile(r"(?<!\S)#[^\n]*")
_COMMENTS = {
    **dict.fromkeys(("node", "deno", "bun"), re.compile(r"//[^\n]*|/\*.{0,2000}?\*/", re.DOTALL)),
    "php": re.compile(r"//[^\n]*|/\*.{0,2000}?\*/|(?<!\S)#[^\n]*", re.DOTALL),
    "lua": re.compile(r"--[^\n]*"),
}
_FILLED_IN = re.compile(r"[#$]\{\s*[$@]?(\w+)\s*\}|\{\$(\w+)\}|[#$]\{[^{}]{0,200}\}|[$@](\w+)")
_PARTS = re.compile(r"::|->|\?\.|\.")
_AROUND_WORDS = re.compile(r"\A(?:%w|qw\s*).|.\Z")
_MODE = re.compile(r"(?:0o?|0)?[0-7]{3,4}")
_LOADED = re.compile(r"(?:\.{0,2}|~)/|[^:]*\.(?:[cm]?[jt]s|rb|rake|p[lm]|php|inc|lua|[rR]|jl|exs?)\Z")
"""A file that code loads, and no package by its name."""
_OPENS = re.compile(r"\+?[<>]{1,2}\+?|[rwax]b?t?\+?|<:\w+.*|>:\w+.*")
_UNSAFE = re.compile(r"([^\w@%+=:,./~$*?-])")
_JOINS = frozenset({"+", ".", "..", "<>"})
_MARKS = frozenset({"$", "@", "%", "*", "\\"})
_SETS = frozenset({"=", "<-", "+=", ".="})
_ADDS = frozenset({"+=", ".="})
_READ_BEHIND = frozenset({"(", "[", ",", "=", "<-", "*", "\\", "return", *_JOINS, *_ADDS})
_READ_BEFORE = frozenset({")", "]", "}", ",", ";", "\n", *_JOINS})
"""Tokens between which a name is read, and not set."""
_READING_METHODS = frozenset({"slice", "drop", "join", "map", "forEach", "each", "length", "size", "trim"})
_DECLARES = frozenset({"function", "def", "defp", "sub", "fn", "func", "fun", "macro", "lambda", "proc"})
_TAKE_NAMES = frozenset({*_DECLARES, "for", "foreach", "catch", "my", "our", "local", "list"})
"""Words whose parentheses hold names that are set there."""
_TEST = frozenset({"if", "elsif", "elseif", "unless", "while", "until"})
_CLOSES = {"(": ")", "[": "]", "{": "}"}
_CLOSING = frozenset(_CLOSES.values())
_ENDS_CALL = frozenset({";", "\n", ")", "]", "}", "|"})
_ENDS_STATEMENT = frozenset({"for", "foreach", "if", "unless", "or", "and", "while", "do", "then"})
_ENDS_ARGUMENTS = _ENDS_CALL | _ENDS_STATEMENT
_READ_BEFORE_STATEMENT = _READ_BEFORE | _ENDS_STATEMENT
_ENDS_CLOSED = frozenset({",", ")", ";"})
_ENDS_OPEN = (_ENDS_ARGUMENTS | {","}) - {"|"}
_ENDS_ITEM = frozenset({",", "\n", *_CLOSING})
_ENDS_SETTING = (_ENDS_ARGUMENTS | {","}) - {"|", "or", "and"}
_UNKNOWN = "$x"
_LONGEST = 4_096
_MOST_TOKENS = 3_000
_MOST_OF_CALL = 60
_MOST_CALLS = 40
"""Tokens of all code and of one call, and calls, that are looked at: the rest is judged by its words alone."""
_DEEPEST = 8

_Value: TypeAlias = str | tuple[str, ...] | None


def _index_calls() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for row in LIBRARY_CALLS:
        for language in row.languages.split():
            found.setdefault(language, {}).update(dict.fromkeys(row.names.split(), row.command))
    return found


_CALLS = _index_calls()


def tells_calls(program: str) -> bool:
    """Whether the calls of its language are among the rows, or it has none that reach files."""
    name = program.rstrip("0123456789.")
    return name.endswith("awk") or _LANGUAGES.get(name, name) in _CALLS


@lru_cache(maxsize=8)  # each look at a command reads the same code
def read_library_calls(text: str, program: str) -> LibraryCalls:
    """The calls in code that a program runs; none where its language is not among the rows."""
    name = program.rstrip("0123456789.")
    language = _LANGUAGES.get(name, name)
    calls = _CALLS.get(language)
    if calls is None or not any(each.rpartition(".")[2] in text for each in calls):
        return LibraryCalls("", (), text)
    return _CodeReading(text, calls, language).read()


class _Token(Struct, frozen=True):
    kind: str
    text: str
    start: int


class _CodeReading:
    def __init__(self, text: str, calls: dict[str, str], language: str) -> None:
        text = _HOME_IN_BRACES.sub("~", text)
        self._text = _HOME_ANYWHERE.sub(
            lambda found: _HOME_IN_TEXT.sub("~", found[1]) if found[1] else '"~"', text
        )
        self._calls = calls
        self._is_list_in_braces = language == "lua"
        self._has_bare_calls = language in _HAVE_BARE_CALLS
        self._tokens = self._list_tokens(_COMMENTS.get(language, _COMMENT))
        self._ends, self._opened = self._pair_brackets()
        self._changes_arguments = language in _PASS_BY_REFERENCE
        self._values: tuple[dict[str, _Value], dict[str, _Value]] = ({}, {})
        self._is_doubting = True
        self._reading = self._find_reading_brackets()
        self._set_last = self._find_followed_names()
        self._depth = 0

    def _list_tokens(self, comment: re.Pattern[str]) -> list[_Token]:
        """The tokens without comments, and without line breaks where they end nothing."""
        tokens: list[_Token] = []
        opened: list[str] = []
        place = 0
        while place < len(self._text) and len(tokens) < _MOST_TOKENS:
            found = comment.match(self._text, place) or _TOKEN.match(self._text, place)
            if found is None:
                break
            place = found.end()
            if found[0] in _CLOSES:
                opened.append(found[0])
            elif found[0] in _CLOSING and opened:
                opened.pop()
            is_break = found[0] == "\n" and opened[-1:] in (["("], ["["])
            if found.lastgroup not in (None, "space") and not is_break:
                tokens.append(_Token(found.lastgroup or "", found[0], found.start()))
        return tokens

    def _pair_brackets(self) -> tuple[dict[int, int], list[int | None]]:
        """For each opening bracket the place behind the closing one, and for each token the innermost bracket
        that it stands in."""
        ends: dict[int, int] = {}
        opened: list[int] = []
        around: list[int | None] = []
        for place, token in enumerate(self._tokens):
            around.append(opened[-1] if opened else None)
            if token.text in _CLOSES:
                opened.append(place)
            elif token.text in _CLOSING and opened:
                ends[opened.pop()] = place + 1
        return {**dict.fromkeys(opened, len(self._tokens)), **ends}, around

    # ---------------------------------------------------------------- which names are followed

    def _find_followed_names(self) -> dict[str, int]:
        """The names that have one value wherever it is known, each with the place where it is set last."""
        places: dict[str, int] = {}
        doubtful: set[str] = set()
        for place, token in enumerate(self._tokens):
            if token.kind != "name":
                continue
            first, *rest = _PARTS.split(token.text.lstrip("$@%&"))
            if not rest and self._get(place + 1) in _SETS and self._get(place - 1) not in ("(", ","):
                if self._get(place + 1) not in _ADDS and first in places:
                    doubtful.add(first)
                places[first] = place
            elif not self._is_read(place, rest[-1] if rest else ""):
                doubtful.add(first)
        return {name: place for name, place in places.items() if name not in doubtful}

    def _is_read(self, place: int, method: str) -> bool:
        """Whether a name there is read, and can have no other value after it."""
        behind = place + 1
        if method and method not in _READING_METHODS:
            return False
        if self._get(behind) == "[":
            behind = self._ends[behind]
        before = self._get(place - 1)
        if self._find_command(before) is not None or before in _CHANGE_NOTHING:  # a call without parentheses
            return method != "" or self._get(behind) in _READ_BEFORE_STATEMENT
        if not method and self._get(behind) not in _READ_BEFORE:
            return False
        around = self._opened[place]
        if before not in _READ_BEHIND or (before == "," and (around is None or self._get(around) == "{")):
            return False
        return around is None or around in self._reading

    def _find_reading_brackets(self) -> set[int]:
        """The brackets in which names are read: braces, and what holds no names that are set there."""
        reading: set[int] = set()
        for place, token in enumerate(self._tokens):
            if token.text == "{":
                reading.add(place)
            elif token.text in _CLOSES:
                around = self._opened[place]
                if (around is None or around in reading) and self._holds_values(place):
                    reading.add(place)
        return reading

    def _holds_values(self, bracket: int) -> bool:
        """Whether what stands in parentheses or brackets is no list of names that are set there."""
        name, end = self._get(bracket - 1), self._get(self._ends[bracket])
        if name in _TEST:
            return True
        methods = (".", "?.", "->") if self._changes_arguments else (".", "?.")
        is_read = end in _READ_BEFORE_STATEMENT or end.startswith(methods) or self._begins_statement(end)
        if self._get(bracket) == "[" or not is_read:
            return is_read
        if name in _TAKE_NAMES or self._get(bracket - 2) in _DECLARES:
            return False
        is_call = bracket > 0 and self._tokens[bracket - 1].kind == "name"
        if not is_call or not self._changes_arguments:
            return True
        parts = _PARTS.split(name)
        known = {parts[-1], ".".join(parts[-2:])}
        return self._find_command(name) is not None or not known.isdisjoint(_LEAVE_ARGUMENTS)

    def _look_up(self, name: str, place: int) -> _Value:
        """What the name was set to last; None where it may have another value by now."""
        is_sure = not self._is_doubting or self._set_last.get(name, place) < place
        return self._values[self._is_doubting].get(name) if is_sure else None

    # ---------------------------------------------------------------- the calls

    def read(self) -> LibraryCalls:
        alike: dict[str, None] = {}
        started: dict[str, None] = {}
        read: list[_Token] = []
        for place, token in enumerate(self._tokens):
            if token.kind != "name":
                continue
            if self._get(place + 1) in _SETS:
                for self._is_doubting in (False, True):
                    self._set(place)
            elif (command := self._find_command(token.text)) is not None and self._is_called(place + 1):
                is_start = command in ("run", "paste")
                for self._is_doubting in (False, True):
                    arguments = self._list_arguments(place + 1)
                    written = _write_command(command, arguments)
                    if written is not None and len(alike) + len(started) < _MOST_CALLS:
                        (started if is_start else alike).setdefault(written)
                        is_known = not is_start or (_UNKNOWN not in written and () not in arguments)
                        if self._is_doubting and is_known:
                            read.append(token)  # else the other words of the code may be those of the command
        return LibraryCalls("\n".join(alike), tuple(started), self._leave_out(read))

    def _is_called(self, place: int) -> bool:
        if self._get(place) == "(":
            return True
        if not self._has_bare_calls or self._get(place) in _ENDS_ARGUMENTS:
            return False
        kind = self._tokens[place].kind if place < len(self._tokens) else ""
        return kind in ("text", "words", "number", "name") or self._get(place) in _MARKS

    def _leave_out(self, tokens: Sequence[_Token]) -> str:
        rest = self._text
        for token in reversed(tokens):
            rest = f"{rest[: token.start]}{rest[token.start + len(token.text) :]}"
        return rest

    def _get(self, place: int) -> str:
        return self._tokens[place].text if 0 <= place < len(self._tokens) else ";"

    def _find_command(self, name: str) -> str | None:
        """The command of a function, which may be called by its last name or by its last two."""
        parts = _PARTS.split(name)
        return self._calls.get(".".join(parts[-2:])) or self._calls.get(parts[-1])

    def _set(self, place: int) -> None:
        name, sign = self._get(place).lstrip("$@%&"), self._get(place + 1)
        value, _ = self._evaluate_whole(place + 2, _ENDS_SETTING, may_go_on=True)
        if sign in _ADDS:
            value = _join(self._values[self._is_doubting].get(name), value)
        self._values[self._is_doubting][name] = value

    def _list_arguments(self, place: int) -> list[_Value]:
        is_closed = self._get(place) == "("
        arguments: list[_Value] = []
        place += is_closed
        end = min(len(self._tokens), place + _MOST_OF_CALL)
        while place < end and self._get(place) not in _ENDS_ARGUMENTS:
            if self._tokens[place].kind == "name" and self._get(place + 1) in ("=", ":", "=>"):
                place = self._skip(place)  # an argument by its name
            else:
                if self._get(place) in ("my", "our", "local"):
                    place += 1
                value, place = self._evaluate_whole(place, _ENDS_CLOSED if is_closed else _ENDS_OPEN)
                arguments.append(value)
                place = self._skip(place)
            if self._get(place) == ",":
                place += 1
                if not is_closed and self._get(place) == "\n":
                    place += 1
        if place >= end and self._get(place) not in _ENDS_ARGUMENTS:
            arguments.append(None)  # and what is not looked at
        return arguments

    def _skip(self, place: int) -> int:
        """The place of the comma or the end behind an argument."""
        for _ in range(_MOST_OF_CALL):
            word = self._get(place)
            if word == "," or word in _ENDS_ARGUMENTS:
                break
            place = self._ends.get(place, place + 1)
        return place

    # ---------------------------------------------------------------- what a text is

    def _evaluate(self, place: int) -> tuple[_Value, int]:
        value, place = self._evaluate_term(place)
        while self._get(place) in _JOINS:
            more, place = self._evaluate_term(place + 1)
            value = _join(value, more)
        return value, place

    def _begins_statement(self, word: str) -> bool:
        """Whether the next statement may follow in the same line, as in Lua, and this is its first word."""
        return self._is_list_in_braces and word[0].isalpha() and word not in ("and", "or")

    def _evaluate_whole(
        self, place: int, ends: frozenset[str], *, may_go_on: bool = False
    ) -> tuple[_Value, int]:
        """The value of what ends there; None where more follows, as an operator or a method, that may make
        another of it. `may_go_on`: the next statement may follow."""
        value, place = self._evaluate(place)
        end = self._get(place)
        is_whole = end in ends or (may_go_on and self._begins_statement(end))
        return (value if is_whole or not self._is_doubting else None), place

    def _evaluate_term(self, place: int) -> tuple[_Value, int]:
        while self._get(place) in ("*", "\\", "&", "new", "await", "."):
            place += 1
        if place >= len(self._tokens) or self._depth > _DEEPEST:
            return None, place + 1
        token = self._tokens[place]
        value: _Value = None
        self._depth += 1
        match token.kind:
            case "text":
                value, place = self._fill_in(token.text[1:-1], place), place + 1
            case "words":
                value, place = tuple(_AROUND_WORDS.sub("", token.text).split()), place + 1
            case "number":
                value, place = token.text, place + 1
            case "name" if self._get(place + 1) == "(":
                value, place = self._evaluate_call(token.text, place)
            case "name":
                value, place = self._look_up(token.text.lstrip("$@%&"), place), place + 1
            case _ if token.text in _CLOSES:
                value, place = self._list_items(place)
            case _ if token.text in _ENDS_CALL or token.text == ",":
                pass
            case _:
                place += 1
        self._depth -= 1
        return self._take_part(value, place)

    def _take_part(self, value: _Value, place: int) -> tuple[_Value, int]:
        """A part of a list, or its words as one text, where that stands behind it."""
        if isinstance(value, tuple):
            index = self._get(place + 1)
            if self._get(place) == "[" and index.isdigit() and self._get(place + 2) == "]":
                return (value[int(index)] if int(index) < len(value) else None), place + 3
            if [self._get(place + each) for each in range(4)] == [".slice", "(", "1", ")"]:
                return value[1:], place + 4
            if self._get(place) == ".join":
                return self._join_words(value, place)
        return value, place

    def _join_words(self, words: tuple[str, ...], place: int) -> tuple[_Value, int]:
        arguments = self._list_arguments(place + 1)
        between = arguments[0] if arguments and isinstance(arguments[0], str) else ""
        return between.join(words)[:_LONGEST], self._ends.get(place + 1, place + 1)

    def _evaluate_call(self, name: str, place: int) -> tuple[_Value, int]:
        parts = _PARTS.split(name)
        last, both = parts[-1], ".".join(parts[-2:])
        listed = self._look_up(parts[0].lstrip("$@%&"), place) if len(parts) == 2 else None
        if isinstance(listed, tuple) and last == "join":
            return self._join_words(listed, place)
        arguments = self._list_arguments(place + 1)
        end = self._ends[place + 1]
        first = arguments[0] if arguments else None
        if isinstance(listed, tuple) and last in ("slice", "drop") and arguments == ["1"]:
            return listed[1:], end
        if last in _JOINS_PATH or both in _JOINS_PATH:
            return "/".join(_flatten(arguments))[:_LONGEST], end
        if name in _MAKES_LIST:
            return tuple(_flatten(arguments)), end
        if last in _MAKES_TEMPORARY:
            return f"{first if isinstance(first, str) and '/' in first else '/tmp/'}{_UNKNOWN}", end
        if last in _GIVES_FIRST or both in _GIVES_FIRST:
            return first, end
        if (last in _JOINS_LIST or both in _JOINS_LIST) and arguments:
            lists = [each for each in arguments if isinstance(each, tuple)]
            between = [each for each in arguments if isinstance(each, str)]
            return (between or [""])[0].join(lists[0])[:_LONGEST] if lists else None, end
        return None, end

    def _list_items(self, place: int) -> tuple[_Value, int]:
        end = self._ends[place]
        if self._get(place) == "{" and not self._is_list_in_braces:
            return (), end
        items: list[_Value] = []
        inner = place + 1
        while inner < end - 1:
            value, inner = self._evaluate_whole(inner, _ENDS_ITEM)
            items.append(value)
            inner = self._skip(inner) + 1
        if self._get(place) == "(" and len(items) == 1:
            return items[0], end
        return tuple(_flatten(items)), end

    def _fill_in(self, text: str, place: int) -> str:
        def find(found: re.Match[str]) -> str:
            name = next(filter(None, found.groups()), "")
            value = self._look_up(name, place)
            is_filled_in = found[0][1] == "{" or name in self._values[self._is_doubting]
            return value if isinstance(value, str) else _UNKNOWN if is_filled_in else found[0]

        return _FILLED_IN.sub(find, text)[:_LONGEST] if "$" in text or "#{" in text or "@" in text else text


def _join(left: _Value, right: _Value) -> _Value:
    if left is None and right is None:
        return None
    return f"{_to_text(left)}{_to_text(right)}"[:_LONGEST]


def _to_text(value: _Value) -> str:
    match value:
        case str(text):
            return text
        case tuple(words):
            return " ".join(words)
        case None:
            return _UNKNOWN


def _flatten(values: Sequence[_Value]) -> Iterator[str]:
    for value in values:
        match value:
            case tuple(words):
                yield from words
            case str(text):
                yield text
            case None:
                yield _UNKNOWN


def _write_command(command: str, arguments: Sequence[_Value]) -> str | None:
    """The shell command that a call is like; None where that cannot be told."""
    words = [_quote(each) for each in _flatten(arguments)]
    files = [word for word in words if "://" in word or _LOADED.match(word)]
    match command:
        case "run":
            return _write_run(arguments)
        case "paste":
            return " ".join(_flatten(arguments)) or None
        case "source":
            return next((f"curl -s {word} | sh" if "://" in word else f"sh {word}" for word in files), None)
        case "open":
            return _write_opened(arguments)
        case "mode":
            modes = [word for word in words if _MODE.fullmatch(word)]
            return (
                f"chmod {modes[0].replace('o', '')} {' '.join(word for word in words if word not in modes)}"
                if modes
                else None
            )
        case _:
            for number in (0, 1):
                command = command.replace(f"{{{number}}}", words[number] if number < len(words) else _UNKNOWN)
            return command.replace("{*}", " ".join(words) or _UNKNOWN)


def _write_run(arguments: Sequence[_Value]) -> str | None:
    known = [each for each in arguments if each != ()]
    match known:
        case [str(text)]:
            return text
        case [str(text), *_] if " " in text.strip():  # a whole command, and what becomes of its output
            return text
        case [] | [None, *_]:
            return None
        case _:
            return " ".join(map(_quote, _flatten(known)))


def _write_opened(arguments: Sequence[_Value]) -> str | None:
    texts = [each for each in arguments if isinstance(each, str)]
    modes = [each for each in texts if _OPENS.fullmatch(each)]
    paths = [each for each in texts if each not in modes]
    mode = modes[0] if modes else "r"
    if not paths:
        return None
    path = paths[0]
    if not modes and (found := re.match(r"\s*(\+?[<>]{1,2})\s*(.*)", path, re.DOTALL)):
        mode, path = found[1], found[2]
    if path.strip(" -").startswith("|") or path.strip(" -").endswith("|"):  # a program at the other end
        words = [each for each in texts if each != path]
        return " ".join(words if len(words) == 1 else map(_quote, words)) or path.strip(" |-")
    if set(mode) & set("wax>"):
        return f"echo {'>>' if 'a' in mode or '>>' in mode else '>'} {_quote(path)}"
    return f"cat {_quote(path)}"


def _quote(word: str) -> str:
    """A word for a shell, in which what is not known and patterns keep their meaning."""
    return _UNSAFE.sub(r"\\\1", word.replace("\n", " ")) or "''"
