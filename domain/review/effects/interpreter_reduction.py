"""Programs that run their words, their input or a file as code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from posixpath import normpath

from msgspec import Struct

from quorum.domain.replacing import replace
from quorum.domain.review.effects.code_effects import reduce_code
from quorum.domain.review.effects.places import is_local, is_system_program
from quorum.domain.review.effects.program_effects import (
    INPUTS,
    PYTHON,
    SHELL,
    SUBSTITUTION,
    ProgramEffects,
    parse_words,
)
from quorum.domain.review.effects.program_rows import UNKNOWN_PROGRAM, find_row
from quorum.domain.review.effects.python_effects import reduce_python
from quorum.domain.review.effects.side_effect import NO_DATA, Data, DataKind, Datum, EffectKind, find_kind
from quorum.domain.review.effects.surroundings import Output, Scope
from quorum.domain.review.effects.word_judgement import judge_served
from quorum.domain.review.hazards.invocation import Invocation
from quorum.domain.review.hazards.program_table import list_harmful_uses
from quorum.domain.review.hazards.python_words import PythonWords, read_python_words
from quorum.domain.text.paths import is_below_any

_OTHER = re.compile(
    r"(perl|ruby|node|nodejs|php|lua|luajit|deno|bun|osascript|pwsh|powershell|tclsh|Rscript|[gmn]?awk|julia|jrunscript|guile|ghc|octave(-cli)?|slsh|clisp|R|swift|groovy|elixir|gnuplot|jshell)[0-9.]*"
)
_LANGUAGES = {
    **dict.fromkeys(("irb", "pry", "jruby"), "ruby"),
    **dict.fromkeys(("ts-node", "ts-node-esm", "tsx", "qjs", "gjs", "d8", "zx"), "node"),
    **dict.fromkeys(("bpython", "ptpython", "xonsh"), "python"),
    **dict.fromkeys(("ghci", "runghc", "runhaskell", "ocaml", "utop"), "ghc"),
    **dict.fromkeys(("racket", "sbcl", "clj", "clojure", "bb", "janet", "hy"), "guile"),
    **dict.fromkeys(("scala", "scala-cli", "amm", "kotlin", "kotlinc", "kscript"), "groovy"),
    **{"iex": "elixir", "psysh": "php", "nu": "pwsh", "raku": "perl"},
}
"""Programs that read code, each with one that takes its words alike."""
_CONSOLES = re.compile(
    r"(?:rails (?:c|console|runner|r)|flask shell|mix run|(?:stack|cabal) (?:ghci|repl|runghc)|dotnet fsi"
    r"|lein repl|(?:\S*/)?artisan tinker|(?:\S*/)?manage\.py shell(?:_plus)?)(?: .*)?"
)
_HAVE_CONSOLES = frozenset({"mix", "rails", "flask", "stack", "cabal", "dotnet", "lein"})
"""Programs of which some subcommands take code from their input."""
_LOADING_OPTIONS: dict[str, tuple[str, ...]] = {
    "ruby": ("-r", "--require"),
    **dict.fromkeys(("node", "nodejs"), ("-r", "--require", "--import", "--loader", "--experimental-loader")),
    **dict.fromkeys(("bun", "deno"), ("-r", "--require", "--preload")),
    "php": ("-f", "-F"),
    **dict.fromkeys(("lua", "guile"), ("-l",)),
    "julia": ("-L", "--load"),
    "elixir": ("-r", "-pr"),
}
"""The options by which interpreters run a file before what else they are given."""
_ENDINGS = (".js", ".mjs", ".cjs", ".ts", ".rb", ".py", ".pl", ".lua", ".php")
"""Code names the files that it loads without them."""
_CODE_OPTION = re.compile(r"-[a-zA-Z]*[eErR]|--eval|--print|-p|--run|-[cC]ommand|-(?i:encodedcommand|enc)")
_COMMAND_OPTION = re.compile(r"(?i)[-/]c(o(m(m(a(nd?)?)?)?)?)?|-e[cn]?")
"""How PowerShell lets its option be shortened, which elsewhere is another."""
_PROGRAMS = {
    **dict.fromkeys(("js", "mjs", "cjs", "ts"), "node"),
    **{"rb": "ruby", "pl": "perl", "php": "php", "lua": "lua", "R": "Rscript", "jl": "julia", "exs": "elixir"},
}
"""What runs a file, by the ending of its name."""
_HAVE_SUBCOMMANDS = frozenset({"bun", "deno", "scala-cli", "bb", "clj", "clojure", "nu"})
_NAMES_FILE = re.compile(r"[./$`]")
_IN_PLACE = re.compile(r"-[a-zA-Z0-9]*i.*|--in-place.*|inplace")
_PUT_IN = re.compile(
    r"\bs([/|#,@!:])(?:\\.|(?!\1)[^\n]){0,500}\1((?:\\.|(?!\1)[^\n]){1,500})\1"
    r"|(?:^|[;{}\d$/])[ \t]*[aic]\\?\s*([^\n]{1,500})"
)
"""What sed and perl put in place of something, or beside it."""
_BACKUP = re.compile(r"(?:-[nErszpwla0-9]*i|--in-place=)([.~_][\w.~-]*)")
_RECORDER = ProgramEffects(
    names="script",
    source="script(1) 2.38",
    values="-c --command -E --echo -m --logging-format -o --output-limit",
    writes="-O --log-out -I --log-in -B --log-io -T --log-timing",
)
_LOCKER = ProgramEffects(names="flock", source="flock(1) 2.38", values="-w --timeout -E --conflict-exit-code")
_TAKES_TEXT = frozenset({"su", "runuser", "script", "flock", "sg", "watch"})
_SCHEDULES = frozenset({"tmux", "screen", "expect", "at", "batch", "crontab"})
_OPEN_FOLDERS = ("/tmp/", "/var/tmp/", "/dev/shm/")
"""Anybody may put a file there."""
_GOES_ON = re.compile(r"(>>?\s*\"[^\"\n]+)\"(?=[ \t]*[\w$(])")
_NAMES_INTERPRETER = re.compile(r"(?i)\$\{?(?:\w*_)?(python|perl|ruby|node|php)")
_SOCKET = re.compile(r"/dev/(?:tcp|udp)/([^/]+)/?")


@lru_cache(maxsize=1024)
def _runs_no_code(program: str) -> bool:
    """Whether a program is none that takes code in its words, its input or a file."""
    patterns = (SHELL.fullmatch, PYTHON.fullmatch, _OTHER.fullmatch, _NAMES_INTERPRETER.match)
    is_known = program == "ssh" or any(program in each for each in (_TAKES_TEXT, _SCHEDULES, _LANGUAGES))
    return not is_known and not any(pattern(program) for pattern in patterns)


class InterpreterReduction(Struct, frozen=True):
    """The code that one script runs."""

    _scope: Scope

    def run_code(self, run: Invocation, piped: Data, substituted: Data) -> Output | None:
        """What a program prints that runs its words or its input as code; None where it does not."""
        reducer, program, arguments = self._scope.reducer, run.program, run.arguments
        if program in ("eval", "trap") and arguments:
            reducer.run_data(NO_DATA.union(*(self._scope.find_data(word, substituted) for word in arguments)))
            text = " ".join(arguments) if program == "eval" else arguments[0]
            return reducer.run_text(text, piped)
        if program in ("source", ".") and arguments:
            reducer.run_data(self._scope.find_data(arguments[0], substituted))
            self.run_file(arguments[0], substituted if SUBSTITUTION.search(arguments[0]) else NO_DATA)
            return Output()
        if program in _HAVE_CONSOLES and _CONSOLES.fullmatch(f"{program} {' '.join(arguments)}"):
            reducer.run_data(piped)
        return None if _runs_no_code(program) else self._run_program(run, piped, substituted)

    def _run_program(self, run: Invocation, piped: Data, substituted: Data) -> Output | None:
        program = run.program
        if SHELL.fullmatch(program):
            return self._run_shell(run, piped, substituted)
        if program == "ssh":
            return self._run_remote(run, piped, substituted)
        if program in _TAKES_TEXT:
            return self._run_text_in_option(run, piped)
        if program in _SCHEDULES:
            for word in (*run.arguments, run.text or ""):
                self._scope.reducer.run_shell(word if " " in word else "")
        if program in _HAVE_SUBCOMMANDS and self._runs_subcommand(run):
            return Output()
        run = _name_language(run)
        if PYTHON.fullmatch(run.program):
            return self._run_python(run, piped, substituted)
        return self._run_interpreter(run, piped, substituted) if _OTHER.fullmatch(run.program) else None

    def _runs_subcommand(self, run: Invocation) -> bool:
        """Whether its first word is a task that it does, and no file with code."""
        codes, files = _divide_words(run)
        if codes or not files or _NAMES_FILE.search(files[0]):
            return False
        self._scope.add(EffectKind.UNKNOWN, f"runs {files[0]} of {run.program}, of which nothing is known")
        return True

    def _run_python(self, run: Invocation, piped: Data, substituted: Data) -> Output:
        words = read_python_words(run.arguments)
        if words.takes_code:
            self._scope.reducer.run_data(piped)
        if words.module:
            self._run_module(words)
            return Output(piped)
        return self._run_interpreter(run, piped, substituted)

    def _run_remote(self, run: Invocation, piped: Data, substituted: Data) -> Output:
        reducer = self._scope.reducer
        host, *words = parse_words(run.arguments, find_row(run) or UNKNOWN_PROGRAM).operands or ("ssh",)
        self._scope.add(EffectKind.CONNECT, f"connects to {host}", host)
        fetched = frozenset(each for each in piped if each.kind is DataKind.FETCHED)
        output = reducer.run_text(" ".join(words) or "sh", fetched)
        reducer.send(piped, host)
        held = NO_DATA.union(*(self._scope.find_data(word, substituted) for word in words))
        reducer.send(frozenset(each for each in held if each.kind is DataKind.SECRET), host)
        return Output(output.data | {Datum(DataKind.FETCHED, host)})

    def _run_text_in_option(self, run: Invocation, piped: Data) -> Output:
        for path in _list_own_files(run):
            self._scope.reducer.write_file(path, NO_DATA)
        for place, word in enumerate(run.arguments[:-1]):
            if re.fullmatch(r"-[a-z]*c|--command|--session-command", word):
                return self._scope.reducer.run_text(run.arguments[place + 1], piped)
        return Output(piped)

    def _run_shell(self, run: Invocation, piped: Data, substituted: Data) -> Output:
        reducer = self._scope.reducer
        place = next(
            (place for place, word in enumerate(run.arguments) if re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", word)),
            None,
        )
        if place is not None:
            text = "".join(run.arguments[place + 1 : place + 2])
            reducer.run_data(self._scope.find_data(text, substituted))
            for number, value in enumerate(run.arguments[place + 3 :], 1):  # the words behind `sh -c TEXT NAME`
                text = text.replace(f'"${number}"', value).replace(f"${number}", value)
            return reducer.run_text(text, piped)
        operands = [word for word in run.arguments if not word.startswith("-") or word == "-"]
        if operands and operands[0] not in ("-", "/dev/stdin"):
            reducer.run_data(self._scope.find_data(operands[0], substituted))
            self.run_file(operands[0], self._scope.find_data(operands[0], substituted))
            return Output()
        reducer.run_data(piped)
        if any(_SOCKET.match(each.target) for each in run.redirects):
            self._scope.add(EffectKind.ADMIT, "gives another machine a shell")
        return reducer.run_text(run.text) if run.text is not None else Output()

    def _run_interpreter(self, run: Invocation, piped: Data, substituted: Data) -> Output:
        reducer = self._scope.reducer
        codes, files = _divide_words(run)
        if run.program.endswith("awk"):
            codes = self._read_awk(run, codes, piped, substituted)
        for path in run.find_values(*_LOADING_OPTIONS.get(run.program, ())):
            if "/" in path or any(reducer.find_file(f"{path}{end}") for end in ("", *_ENDINGS)):
                self.run_file(path, NO_DATA)
        if not codes and _reads_input(files):
            files = []
        if not codes and files:
            code_file, *files = files
            reducer.run_data(self._scope.find_data(code_file, substituted))
            self.run_file(code_file, NO_DATA)
            return Output(NO_DATA.union(*map(reducer.read_file, files)))
        if not codes or codes == ["-"]:
            reducer.run_data(piped)
            codes = [run.text] if run.text is not None else []
        given = piped
        if run.program.endswith("awk") or run.program in ("perl", "ruby"):
            given |= NO_DATA.union(*map(reducer.read_file, files))
            if any(map(_IN_PLACE.fullmatch, run.arguments)):
                given = NO_DATA
                for file in files:
                    change_in_place(self._scope, run, file)
        if run.program.startswith("node") and {"-p", "--print", "-pe"}.intersection(run.arguments):
            codes = [f"console.log({code})" for code in codes]
        modules = " ".join(word for word in run.arguments if word.startswith(("-M", "-r", "-m")))
        output = NO_DATA
        for code in codes:
            held = self._scope.find_data(code, substituted)
            reducer.run_data(each for each in held if each.kind in (DataKind.FETCHED, DataKind.DECODED))
            printed = reduce_python(code, reducer, incoming=given) if PYTHON.fullmatch(run.program) else None
            output |= (
                reduce_code(f"{modules} {code}", reducer, given, run.program) if printed is None else printed
            )
        return Output(output)

    def _read_awk(self, run: Invocation, codes: Sequence[str], piped: Data, substituted: Data) -> list[str]:
        """The programs of awk among its words and in the files that these name."""
        reducer, found = self._scope.reducer, list(codes)
        for path in run.find_values("-f", "--file"):
            reducer.run_data(piped if path in INPUTS else self._scope.read(path, substituted))
            found.append((run.text if path in INPUTS else reducer.take_text(path)) or "")
        return [_fill_awk(run, code) for code in found]

    def _run_module(self, started: PythonWords) -> None:
        module, words = started.module, started.words
        names = [word for word in words if word == "-" or not word.startswith("-")]
        if module == "json.tool":
            self._scope.read(names[0] if names else "-", NO_DATA)
            for path in names[1:2]:
                self._scope.reducer.write_file(path, self._scope.read(names[0], NO_DATA))
        elif module in ("zipfile", "tarfile"):
            self._pack_by_module(words, names)
        else:
            self._scope.add(EffectKind.UNKNOWN, f"runs the module {module}, of which nothing is known")
        if file := self._scope.reducer.find_file(f"{module.replace('.', '/')}.py"):
            self._scope.reducer.run_data(file.data)
        if module in ("http.server", "SimpleHTTPServer"):
            given = (words[at + 1] for at, word in enumerate(words[:-1]) if word in ("-d", "--directory"))
            if not any(map(is_local, words)) or "0.0.0.0" in words:
                judge_served(self._scope, next(given, self._scope.reducer.folder))

    def _pack_by_module(self, words: Sequence[str], names: Sequence[str]) -> None:
        """Take an archive that a module of Python makes, or takes apart."""
        reducer = self._scope.reducer
        if {"-c", "--create"}.intersection(words):
            data = NO_DATA.union(*(self._scope.read(path, NO_DATA) for path in names[1:]))
            for archive in names[:1]:
                reducer.write_file(archive, data)
            return
        data = NO_DATA.union(*(self._scope.read(path, NO_DATA) for path in names[:1]))
        if {"-e", "--extract"}.intersection(words):
            folder = names[1] if names[1:] else "."
            reducer.write_file(f"{folder.rstrip('/')}/", NO_DATA)
            if fetched := find_kind(data, DataKind.FETCHED):
                reducer.fetched_tree = fetched

    def _is_open_to_others(self, path: str) -> bool:
        own = (root for root in self._scope.reducer.roots if not f"{root}/".endswith(_OPEN_FOLDERS))
        return path.startswith(_OPEN_FOLDERS) and not is_below_any(normpath(path), own)

    def run_file(self, path: str, data: Data) -> None:
        """Take the effects of a file that is run; `data` are those of its name."""
        reducer = self._scope.reducer
        self._judge_name(path)
        path = next((each for end in _ENDINGS if reducer.find_file(each := f"{path}{end}")), path)
        if (file := reducer.find_file(path)) is not None:
            reducer.run_data(file.data)
            self._scope.add(EffectKind.READ, f"reads {path}", path)
            if (text := reducer.take_text(path)) is not None:
                self._run_text(path, text)
        elif self._is_open_to_others(path):
            self._scope.add(EffectKind.RUN_HIDDEN, f"runs {path}, of which nothing is known", path)
        elif reducer.fetched_tree and not path.startswith(("/", "~", "$", "`")):
            reducer.run_data((reducer.fetched_tree,))
        is_file = not ("://" in path or SUBSTITUTION.search(path) or is_system_program(path))
        if file is None and is_file:
            self._scope.add(EffectKind.READ, f"reads {path}", path)
            self._scope.add(EffectKind.UNKNOWN, f"runs {path}, whose text is not shown", path)
        if "://" in path and not SUBSTITUTION.search(path):
            reducer.run_data((Datum(DataKind.FETCHED, path),))
        if SUBSTITUTION.search(path) or path.startswith("/dev/fd"):
            reducer.run_data(data)

    def _judge_name(self, path: str) -> None:
        """A script does what the program does that it is named after."""
        name = path.rpartition("/")[2]
        for program in (name, name.rpartition(".")[0]):
            for found in list_harmful_uses(Invocation(program=program, arguments=())) if program else ():
                self._scope.add(EffectKind.ATTACK, f"{found.reason.removeprefix(f'{program}: it ')} by {path}")

    def _run_text(self, path: str, text: str) -> None:
        if path.endswith(".py") or re.match(r"#!\S*(/env )?\S*python|import \w|from \w+ import", text):
            reduce_python(text, self._scope.reducer)
        elif (program := _PROGRAMS.get(path.rpartition(".")[2])) is not None:
            reduce_code(text, self._scope.reducer, program=program)
        else:
            self._scope.reducer.run_shell(text)


def _list_own_files(run: Invocation) -> Sequence[str]:
    """The files that programs which run a text write themselves: a record of what is typed, or a lock."""
    words = parse_words(run.arguments, _RECORDER if run.program == "script" else _LOCKER)
    match run.program:
        case "script":
            given = words.find(_RECORDER.writes)
            return (*words.operands[:1], *given) or ("typescript",)
        case "flock":
            return tuple(each for each in words.operands[:1] if not each.isdigit())
        case _:
            return ()


def change_in_place(scope: Scope, run: Invocation, path: str) -> None:
    """Take a file that is changed in place, with its copy where an option names the ending of that."""
    scope.reducer.write_file(path, NO_DATA)
    for script in run.arguments if run.program in ("sed", "gsed", "perl") else ():
        for put in _PUT_IN.finditer(script):
            scope.reducer.judge_text(path, put[2] or put[3])
    if ending := next((found[1] for word in run.arguments if (found := _BACKUP.fullmatch(word))), ""):
        scope.reducer.write_file(f"{path}{ending}", frozenset({Datum(DataKind.FILE, path)}))
        if run.program != "perl":  # which puts a link there
            scope.add(EffectKind.DELETE, f"moves {path} away", path)


def _fill_awk(run: Invocation, code: str) -> str:
    """A program of awk with the texts that options give its variables, and a name that goes on as a pattern."""
    for given in run.find_values("-v", "--assign"):
        name, _, value = given.partition("=")
        if name.isidentifier() and value and '"' not in value:
            quoted = f'"{value}"'.replace("\\", r"\\")
            code = re.sub(rf"(?<![\w\"]){name}(?![\w\"(])", quoted, code)
    return _GOES_ON.sub(r'\1*"', code)


def _reads_input(files: Sequence[str]) -> bool:
    """Whether it takes its code from its input although words stand in the place of a file."""
    return bool(INPUTS.intersection(files[:1])) or _CONSOLES.fullmatch(" ".join(files)) is not None


def _name_language(run: Invocation) -> Invocation:
    """An interpreter by the name of one that takes its words alike."""
    if found := _NAMES_INTERPRETER.match(run.program):
        return replace(run, program=found[1].lower())
    if run.program == "scala-cli" and run.arguments[:1] == ("run",):
        run = replace(run, arguments=run.arguments[1:])
    return replace(run, program=_LANGUAGES[run.program]) if run.program in _LANGUAGES else run


def _divide_words(run: Invocation) -> tuple[list[str], list[str]]:
    """The words of an interpreter that are code, and those that name files."""
    if PYTHON.fullmatch(run.program):
        python = read_python_words(run.arguments)
        is_input = python.code is None and python.takes_code
        return [] if python.code is None else [python.code], [] if is_input else [*python.words]
    is_power_shell = run.program in ("pwsh", "powershell")
    codes = [
        run.arguments[place + 1]
        for place, word in enumerate(run.arguments[:-1])
        if _CODE_OPTION.fullmatch(word) or (is_power_shell and _COMMAND_OPTION.fullmatch(word))
    ]
    files = [word for word in run.arguments if not word.startswith("-") and word not in codes]
    if is_awk := run.program.endswith("awk"):
        taken = {*run.find_values("-v", "--assign", "-F", "--field-separator", "-f", "--file")}
        files = [word for word in files if word not in taken]
    if run.program in _HAVE_SUBCOMMANDS and files[:1] == ["run"]:
        files = files[1:]
    elif run.program == "deno" and files[:1] == ["eval"]:
        codes, files = files[1:2], files[2:]
    if is_awk and not codes and not any(run.find_values("-f", "--file")):
        codes, files = files[:1], files[1:]
    if not codes and (run.program == "osascript" or run.arguments[:1] == ("-",)):
        files = []
    return codes, files
