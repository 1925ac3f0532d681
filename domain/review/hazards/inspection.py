"""What guards find in a shell text: each command in it is looked at, and the code and scripts that it runs.

That includes the programs that git starts because a setting or a variable names them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias

from quorum.domain.replacing import replace
from quorum.domain.review.hazards.database import CLIENTS, list_deleted_data, list_reached_data
from quorum.domain.review.hazards.files import (
    READING,
    WRITING,
    fill_in_generated,
    finds_only_servers,
    list_ended_processes,
    list_harm,
    list_read_credentials,
    list_written,
    list_written_places,
    may_harm,
    stays_in_workspace,
)
from quorum.domain.review.hazards.inline_code import NestedShell, list_effects_of_code, list_effects_of_python
from quorum.domain.review.hazards.invocation import (
    Carried,
    Invocation,
    find_handed_values,
    find_listed_words,
    hold_own_words,
    is_assignment,
    list_texts_in_options,
    print_words,
)
from quorum.domain.review.hazards.places import (
    belongs_to_system,
    find_new_temporary,
    holds_credentials,
    is_temporary,
    normalize,
)
from quorum.domain.review.hazards.plain_loops import unroll
from quorum.domain.review.hazards.python_words import read_python_words
from quorum.domain.review.hazards.request_terms import complete_terms
from quorum.domain.review.hazards.started_programs import list_started, skip_leading_options
from quorum.domain.review.hazards.transfers import (
    CONNECTING,
    DOWNLOADERS,
    FILE_CLIENTS,
    PACKAGE_RUNNERS,
    list_deleted_there,
    list_foreign_packages,
    list_transfers,
)
from quorum.domain.review.objection import Objection
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.review.plain_request import Effect, RequestTerms
from quorum.domain.shell.command_line import Redirect
from quorum.domain.shell.script import ReadScript, Script, ScriptCommand
from quorum.domain.text.pattern import compile_once

# git-config(1) 2.39: settings whose value is a program, or a place that programs are taken from.
_SETTING = re.compile(
    r"(?i)core\.(pager|editor|sshcommand|fsmonitor|askpass|hookspath|gitproxy|alternaterefscommand)|sequence\.editor"
    r"|diff\.external|diff\..*\.(command|textconv)|filter\..*\.(clean|smudge|process)|merge\..*\.driver"
    r"|(diff|merge|gui)tool\..*\.(cmd|path)|(browser|man)\..*\.(cmd|path)|web\.browser|credential\.(.*\.)?helper"
    r"|pager\..*|alias\..*|gpg\.(.*\.)?program|gpg\.ssh\.defaultkeycommand|init\.templatedir|include(if\..*)?\.path"
    r"|uploadpack\.packobjectshook|remote\..*\.(uploadpack|receivepack|vcs)|interactive\.difffilter"
    r"|trailer\..*\.(command|cmd)|submodule\..*\.update|tar\..*\.command|sendemail\..*(cmd|server)"
)
_VARIABLE = re.compile(
    r"GIT_(EXTERNAL_DIFF|SSH|SSH_COMMAND|EDITOR|SEQUENCE_EDITOR|PAGER|ASKPASS|PROXY_COMMAND|EXEC_PATH|TEMPLATE_DIR"
    r"|CONFIG|CONFIG_GLOBAL|CONFIG_SYSTEM|CONFIG_PARAMETERS)|SSH_ASKPASS"
)
_REPOSITORY = re.compile(r"GIT_(DIR|COMMON_DIR)")
_OPEN_FOLDERS = re.compile(r"(/var)?/tmp/|/dev/shm/|/private/tmp/")
"""Git asks whose a repository is, but not where it is told to use one."""
# in a shell's text, or in an editor's commands
_RUNS_MORE = frozenset(";&|`()<>!\n")
_CONFIG_WORDS = frozenset({"set", "--global", "--local", "--add", "--replace-all"})
_USUAL_SETTING = (
    r"(?i:alias)\.\w+=(?:status|checkout|switch|commit|branch|log|diff|show|add|restore|stash|blame|shortlog|reflog)"
    r"(?: [\w./=:%,()<>@^ -]+)?|"
    r"(?i:core\.editor|sequence\.editor)=(?:vim?|nvim|nano|emacs|(?:code|subl) (?:--wait|-w))|"
    r"(?i:core\.pager)=(?:less(?: -[FRXSi]+)?|more|cat|delta|bat)"
)
_KEY_VARIABLE = re.compile(r"GIT_CONFIG_KEY_\d+")
# What these run in turn is seen by their own words.
_USUAL = frozenset(
    {
        *(
            "",
            ":",
            "true",
            "false",
            "cat",
            "less",
            "more",
            "bat",
            "delta",
            "difft",
            "ssh",
            "gpg",
            "gpg2",
            "/dev/null",
        ),
        *(
            "vi",
            "vim",
            "nvim",
            "nano",
            "emacs",
            "code",
            "sed",
            "echo",
            "cache",
            "store",
            "manager",
            "osxkeychain",
        ),
    }
)


def list_git_programs(run: Invocation) -> Iterator[Objection]:
    """What options of a git command have it start."""
    if run.program != "git":
        return
    for setting in run.find_values("-c", "--config"):
        name, _, value = setting.partition("=")
        if _SETTING.fullmatch(name) and not _is_usual(name, value):
            yield _object_to(name)
    for setting in run.find_values("--config-env"):
        name = setting.partition("=")[0]
        if _SETTING.fullmatch(name):
            yield _object_to(name)
    if any(run.find_values("--exec-path")):
        yield _object_to("--exec-path")
    if any(map(_OPEN_FOLDERS.match, run.find_values("--git-dir"))):
        yield _object_to("--git-dir")
    for place in run.find_values("--work-tree"):
        yield from _list_changed_trees(place)


def list_git_programs_of_variable(assignment: str) -> Iterator[Objection]:
    """What a variable has git start.

    A setting that a variable names is judged by its name alone, since its value stands in another one.
    """
    name, _, value = assignment.partition("=")
    value = value.strip("'\"")
    if name == "GIT_WORK_TREE":
        yield from _list_changed_trees(value)
    is_started = _VARIABLE.fullmatch(name) and not _is_usual(name, value)
    is_elsewhere = _REPOSITORY.fullmatch(name) and _OPEN_FOLDERS.match(value)
    is_setting = _KEY_VARIABLE.fullmatch(name) and ("$" in value or "`" in value or _SETTING.fullmatch(value))
    if is_started or is_elsewhere or is_setting:
        yield _object_to(name)


def _list_changed_trees(place: str) -> Iterator[Objection]:
    if normalize(place).rstrip("/") in ("", "~") or belongs_to_system(place):
        yield Objection("path", f"git: it works on the files of {place} as if they were a repository's")


def _is_usual(name: str, value: str) -> bool:
    if name.lower().startswith("alias."):
        return compile_once(_USUAL_SETTING).fullmatch(f"{name}={value}") is not None
    return (value.split() or [""])[0] in _USUAL and not _RUNS_MORE.intersection(value)


def _sets_usual_program(run: Invocation) -> bool:
    """Whether a git config has git run what it runs anyway: its own commands by a short name, an editor or a
    pager."""
    if run.program != "git" or run.arguments[:1] != ("config",):
        return False
    words = [word for word in run.arguments[1:] if word not in _CONFIG_WORDS]
    return len(words) == 2 and compile_once(_USUAL_SETTING).fullmatch("=".join(words)) is not None


def _object_to(name: str) -> Objection:
    return Objection("persistence", f"{name}: it has git run something")


_DEEPEST = 8  # texts that run texts; what is nested deeper is objected to
_MOST_TEXTS = 200
_MOST_STARTED = 40
"""As many programs that one command starts one within the other are looked at."""
_MOST_COMMANDS = 5_000
_LONGEST_WORD = 4_096
_SHELL = re.compile(r"(ba|da|z|k|a|fi|c|tc|mk|pdk)?sh[0-9.]*")
_PYTHON = re.compile(r"(python|pypy|ipython)[0-9.]*")
_INTERPRETER = re.compile(
    r"(perl|ruby|node|nodejs|php|lua|luajit|deno|bun|osascript|pwsh|powershell|tclsh|wish|expect|Rscript|R|guile|erl"
    r"|ocaml|groovy|scala|elixir|julia|swift|emacs|gdb|lldb|jshell|octave|ghc|clisp|sbcl)[0-9.]*"
)
_CODE_OPTION = re.compile(
    r"-[a-zA-Z]*[eEr]|--eval|--print|-p|--run|-[cC](ommand)?|-(?i:encodedcommand|enc)|eval|-{1,2}(eval|execute|ex|iex|eval-command|rpc-eval)|-o"
)
_ATTACHED_CODE = re.compile(r"--(?:eval|execute|eval-command|init-eval-command)=(.*)", re.DOTALL)
_ASSIGNING = frozenset({"env", "sudo", "doas"})
_PORT_LISTED = re.compile(
    r"(?:-[tnP]+ |-sTCP:LISTEN )*-[tnP]*i ?(?:tcp|TCP)?:(?!0|10[01]\d$)\d{4,5}(?: -[tnP]+| -sTCP:LISTEN)*"
)
_CONSOLES = frozenset({"rails", "php", "artisan", "manage.py", "mix", "flask", "iex"})
_CONSOLE = re.compile(
    r"(^|/)rails (c|console|r|runner)\b|\bmanage\.py shell|\bartisan tinker|^mix run|^flask shell|^iex"
)
"""What runs code with the models of an application, and so with its data."""
_AWK = frozenset({"awk", "gawk", "mawk", "nawk"})
_INSPECTION_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
_DECODERS = re.compile(r"(base64|base32|xxd|uudecode|openssl|rev|gpg)")
_DECODES = re.compile(r"-d|-D|--decode|-r|-di|enc|-p|-rp|-ps")
_ESCAPES = re.compile(r"\\(x[0-9a-fA-F]{2}|[0-7]{3})")
_FILE_READERS = frozenset(
    {"cat", "tar", "zip", "gzip", "base64", "head", "tail", "dd", "xxd", "sed", "awk", "grep"}
)
_DUMPERS = frozenset({"pg_dump", "pg_dumpall", "mysqldump", "mongodump", "redis-dump"})
_PROCESS_LISTERS = frozenset({"pgrep", "pidof", "ps", "lsof", "fuser", "ss", "netstat"})
_NOTHING: frozenset[Carried] = frozenset()
_HISTORY_OFF = re.compile(r"HISTFILE=(/dev/null)?|HISTSIZE=0|HISTFILESIZE=0|HISTCONTROL=ignore.*")
_CRONTAB = Objection(
    "persistence",
    "crontab: it schedules something to run on its own",
    RequestTerms(effect=Effect.INSTALL, names=frozenset({"cron"})),
)
_LOADED = re.compile(r"(LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|BASH_ENV|PROMPT_COMMAND)=.+", re.DOTALL)


def inspect_command(
    text: str, *, read_script: ReadScript, paths: PathPolicy, more: Sequence[str] = ()
) -> tuple[Objection, ...]:
    """What a shell text seems to do that a person should be asked about, without repetition.

    `more` are further beginnings of commands to object to. The text is never run, and no file is looked at.
    """
    inspection = _Inspection(read_script, paths, more)
    inspection.inspect(text)
    return tuple(inspection.found)


_Judge: TypeAlias = Callable[[Invocation, PathPolicy, Script | None], Iterable[Objection]]


def _judge_harm(run: Invocation, paths: PathPolicy, script: Script | None) -> Iterable[Objection]:
    return () if _sets_usual_program(run) else list_harm(run, paths.roots, script)


_JUDGES: Sequence[tuple[_Judge, Callable[[str], bool]]] = (
    (_judge_harm, may_harm),
    (lambda run, _, __: list_ended_processes(run), "kill".__eq__),
    (lambda run, _, __: list_written_places(list_written(run)), WRITING.__contains__),
    (lambda run, paths, _: list_read_credentials(run, paths.is_sensitive), READING.__contains__),
    (lambda run, _, __: list_transfers(run), CONNECTING.__contains__),
    (lambda run, _, __: list_deleted_there(run), FILE_CLIENTS.__contains__),
    (lambda run, _, __: list_git_programs(run), "git".__eq__),
    (lambda run, _, __: list_foreign_packages(run), PACKAGE_RUNNERS.__contains__),
)
"""What looks at programs, each with the names of those which it looks at for their words alone."""
_ANY_JUDGES = tuple(judge for judge, _ in _JUDGES)


@lru_cache(maxsize=1024)
def _list_judges(program: str) -> Sequence[_Judge]:
    """What has something to say about a program whose output goes nowhere else. Most programs have little."""
    return tuple(judge for judge, concerns in _JUDGES if concerns(program))


class _Inspection:
    def __init__(self, read_script: ReadScript, paths: PathPolicy, more: Sequence[str]) -> None:
        self.found: dict[Objection, None] = {}
        self._read_script = read_script
        self._paths = paths
        self._more = tuple(beginning.split() for beginning in more)
        self._texts = 0

    def inspect(self, text: str, depth: int = 0) -> None:
        """Look through one text, and through those that it runs."""
        self._texts += 1
        if depth > _DEEPEST or self._texts > _MOST_TEXTS:
            self._add(Objection("destructive", "it holds texts that run texts, too many to be looked through"))
            return
        script = unroll(self._read_script(text))
        if script.problem is not None and "characters" in script.problem:
            self._add(Objection("destructive", script.problem))
        _ScriptRun(self, script, depth).run()

    def _add(self, objection: Objection) -> None:
        self.found.setdefault(objection)

    def judge(self, run: Invocation, script: Script, depth: int) -> None:
        """Collect what speaks against one program of a script that stands so deep."""
        judges = _ANY_JUDGES if run.redirects else _list_judges(run.program)
        for judge in judges:
            for objection in judge(run, self._paths, script if depth == 0 else None):
                self.collect(objection, run, script, depth)
        for objection in self._find_listed(run) if self._more else ():
            self.collect(objection, run, script, depth)

    def collect(self, objection: Objection, run: Invocation, script: Script, depth: int) -> None:
        """Collect what speaks against a program, with what the person would have to ask for to allow it."""
        terms = objection.request
        if terms is not None:
            terms = complete_terms(terms, run, script, self._paths) if depth == 0 else None
        self._add(replace(objection, request=terms))

    def judge_code(self, effects: Iterator[Objection | NestedShell], depth: int) -> None:
        """Collect what speaks against code, and look through the shell texts that it runs."""
        for effect in effects:
            match effect:
                case Objection():
                    self._add(replace(effect, request=None))
                case NestedShell(text, is_alike=True):
                    known = self.found
                    self.found = {}
                    self.inspect(text, depth + 1)
                    alike = (replace(each, reason=f"code like {each.reason}") for each in self.found)
                    self.found = {**known, **dict.fromkeys(alike)}
                case NestedShell(text):
                    self.inspect(text, depth + 1)

    def add(self, guard: str, reason: str) -> None:
        self._add(Objection(guard, reason))

    def _find_listed(self, run: Invocation) -> Iterator[Objection]:
        words = [run.program, *skip_leading_options(run)]
        for wanted in self._more:
            if wanted and words[: len(wanted)] == wanted:
                yield Objection("destructive", f"{' '.join(wanted)}: the settings of the guard name it")


class _ScriptRun:
    """Goes through the commands of one script in order, and keeps account of what flows between them."""

    def __init__(self, inspection: _Inspection, script: Script, depth: int) -> None:
        self._inspection = inspection
        self._script = script
        self._depth = depth
        self._values: dict[str, str] = {}
        self._held: dict[str, frozenset[Carried]] = {}
        self._streams: dict[int, frozenset[Carried]] = {}
        self._printed: dict[int, str] = {}
        self._files: dict[str, str] = {}
        self._unknown_streams: set[int] = set()
        self._lists_port: dict[int, bool] = {}
        self._unknown_files: set[str] = set()
        self._downloaded: set[str] = set()

    def run(self) -> None:
        for command in self._script.commands[:_MOST_COMMANDS]:
            self._inspect_command(command)
        if len(self._script.commands) > _MOST_COMMANDS:
            self._inspection.add("destructive", "it holds too many commands to be looked through")

    def _inspect_command(self, command: ScriptCommand) -> None:
        carried = self._find_carried(command.reads) if command.reads else _NOTHING
        words = self._resolve_command(command)
        if self._held:
            for found in _INSPECTION_VARIABLE.finditer(" ".join(command.words)):
                carried |= self._held.get(found[1] or found[2], _NOTHING)
        if not words or words[0] in ("export", "local", "declare", "typeset", "readonly"):
            self._assign(command.assignments, carried)
        for assignment in command.assignments:
            self._judge_assignment(assignment)
        while words and "=" in words[0] and is_assignment(words[0]):
            words = words[1:]
        if command.writes is not None:
            self._streams[command.writes] = self._streams.get(command.writes, _NOTHING) | carried
        redirects = self._resolve_redirects(command.redirects) if self._values else command.redirects
        whole = Invocation(
            program=words[0].rpartition("/")[2] if words else "",
            arguments=words[1:],
            redirects=redirects,
            text=self._find_input(command, redirects),
            has_unknown_input=bool(command.reads or redirects) and self._has_unknown_input(command, redirects),
            carried=carried,
            in_loop=command.in_loop,
        )
        if words and "/" in words[0]:
            self._run_file(words[:1])
        if (
            command.function
            and words[:1] == (command.function,)
            and (command.writes is not None or command.reads)
        ):
            self._inspection.add("destructive", f"{words[0]}: it starts itself again and again")
        for number, run in enumerate(list_started(whole)):
            if number == _MOST_STARTED:  # each takes as long as the whole command is
                self._inspection.add("destructive", "programs in it start too many others to be looked through")
                break
            self._judge_run(fill_in_generated(run, whole))
            self._flow(run, command.writes)

    def _find_carried(self, reads: Sequence[int]) -> frozenset[Carried]:
        carried = _NOTHING.union(*[self._streams.get(stream, _NOTHING) for stream in reads])
        return carried | {Carried.PORT} if all(map(self._lists_port.get, reads)) else carried

    def _resolve_redirects(self, redirects: Sequence[Redirect]) -> tuple[Redirect, ...]:
        return tuple([Redirect(each.operator, self._resolve(each.target)) for each in redirects])

    def _judge_run(self, run: Invocation) -> None:
        if run.program == "set" and (own := hold_own_words(("set", *run.arguments))) is not None:
            self._values["@"] = self._values["*"] = own
        if run.program in _ASSIGNING:
            for assignment in filter(is_assignment, run.arguments):
                self._judge_assignment(assignment)
        self._inspection.judge(run, self._script, self._depth)
        inspect = _find_inspection(run.program)
        if (inspect is _ScriptRun.inspect_python or run.program in _CONSOLES) and _CONSOLE.search(
            " ".join((run.program, *run.arguments[:2]))
        ):
            self._judge_statements((*run.arguments, run.text or ""), run)
        if inspect is not None:
            inspect(self, run)
        for text in list_texts_in_options(run):
            self._inspection.inspect(text, self._depth + 1)

    def _find_input(self, command: ScriptCommand, redirects: Sequence[Redirect]) -> str | None:
        """What is known of the text that a command reads."""
        text = command.text
        for stream in command.reads:
            text = self._printed.get(stream, text)
        for redirect in redirects:
            if redirect.operator == "<":
                text = self._files.get(redirect.target, text)
        return text

    def _has_unknown_input(self, command: ScriptCommand, redirects: Sequence[Redirect]) -> bool:
        return not self._unknown_streams.isdisjoint(command.reads) or any(
            each.operator == "<" and self._may_hold_more(each.target) for each in redirects
        )

    def _may_hold_more(self, file: str) -> bool:
        """Whether a file may hold something that the script does not tell."""
        return file not in self._files or file in self._unknown_files

    # ---------------------------------------------------------------- variables

    def _resolve_command(self, command: ScriptCommand) -> tuple[str, ...]:
        known = self._values
        if handed := find_handed_values(command):
            self._values = {**known, **handed}
        is_fixed = not self._values or "$" not in "".join(command.words)
        words = command.words if is_fixed else self._resolve_words(command.words)
        self._values = known
        return words

    def _resolve_words(self, given: Sequence[str]) -> tuple[str, ...]:
        """The words with what is known of their variables; the shell takes apart what these hold, also the
        program and its options."""
        words: list[str] = []
        for word in given:
            resolved = self._resolve(word)
            if (listed := find_listed_words(word, self._values)) is not None:
                words += listed
            elif resolved is not word and word[:1] == "$" and (not words or resolved[:1] == "-"):
                words += re.split(rf"[\s{re.escape(self._values.get('IFS', ''))}]+", resolved.strip())
            else:
                words.append(resolved)
        return tuple(words)

    def _resolve(self, word: str) -> str:
        if "$" not in word or not self._values:
            return word
        return _INSPECTION_VARIABLE.sub(lambda found: self._values.get(found[1] or found[2], found[0]), word)[
            :_LONGEST_WORD
        ]

    def _assign(self, assignments: Sequence[str], carried: frozenset[Carried]) -> None:
        for assignment in assignments:
            name, _, value = assignment.partition("=")
            name = name.rstrip("+")
            self._held[name] = self._held.get(name, frozenset()) | carried
            resolved = self._resolve(value)
            if made := find_new_temporary(resolved):
                self._values[name] = made
            elif "$(" in resolved or "`" in resolved:
                self._values.pop(name, None)
            else:
                self._values[name] = resolved

    def _judge_assignment(self, assignment: str) -> None:
        if _HISTORY_OFF.fullmatch(assignment):
            self._inspection.add("destructive", "it switches the history of commands off")
        elif _LOADED.fullmatch(assignment):
            name = assignment.partition("=")[0]
            self._inspection.add("persistence", f"{name}: it has other programs run something")
        name, _, value = assignment.partition("=")
        for objection in list_git_programs_of_variable(f"{name}={self._resolve(value)}"):
            self._inspection.add(objection.guard, objection.reason)

    # ---------------------------------------------------------------- texts that run

    def inspect_words(self, run: Invocation) -> None:
        if run.arguments:
            self._judge_source(run)
            text = " ".join(run.arguments if run.program == "eval" else run.arguments[:1])
            self._inspection.inspect(text, self._depth + 1)

    def inspect_file(self, run: Invocation) -> None:
        self._judge_source(run)
        self._run_file(run.arguments[:1])

    def inspect_awk(self, run: Invocation) -> None:
        for code in run.operands[:1]:
            self._inspection.judge_code(list_effects_of_code(code), self._depth)

    def inspect_crontab(self, run: Invocation) -> None:
        if {"-l", "-r"}.isdisjoint(run.arguments):
            self._inspection.collect(_CRONTAB, run, self._script, self._depth)

    def inspect_statements(self, run: Invocation) -> None:
        names = tuple(run.find_values("-f", "--file", "-i"))
        is_whole = not run.has_unknown_input and not any(map(self._may_hold_more, names))
        texts = (*run.arguments, run.text or "", *(self._files.get(name, "") for name in names))
        for effect in (*list_deleted_data(texts, is_whole=is_whole), *list_reached_data(texts)):
            self._inspection.collect(effect, run, self._script, self._depth)

    def _judge_statements(self, texts: Sequence[str], run: Invocation) -> None:
        for effect in list_deleted_data(texts, is_whole=False):
            self._inspection.collect(effect, run, self._script, self._depth)

    def _judge_source(self, run: Invocation) -> None:
        if Carried.DOWNLOAD in run.carried:
            self._inspection.add("network", "it runs what it downloads")
        if Carried.DECODED in run.carried:
            self._inspection.add("network", "it runs code that is hidden in data")

    def inspect_shell(self, run: Invocation) -> None:
        self._judge_source(run)
        if any(redirect.target.startswith(("/dev/tcp/", "/dev/udp/")) for redirect in run.redirects):
            self._inspection.add("network", "it gives another machine a shell")
        place = next(
            (place for place, word in enumerate(run.arguments) if re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", word)),
            None,
        )
        if place is not None:
            for text in run.arguments[place + 1 : place + 2]:
                self._inspection.inspect(text, self._depth + 1)
        elif operands := [word for word in run.operands if word != "-"]:
            self._run_file(operands[:1])
        elif run.text is not None:
            self._inspection.inspect(run.text, self._depth + 1)

    def inspect_text_behind(self, run: Invocation) -> None:
        if run.program == "ssh":
            texts = [" ".join(run.operands[1:])] if len(run.operands) > 1 else []
        elif run.program == "watch":
            texts = [" ".join(run.operands)]
        else:
            texts = [*run.find_values("-c", "--command")]
        for text in (*texts, *((run.text,) if run.text is not None and run.program == "ssh" else ())):
            self._inspection.inspect(text, self._depth + 1)

    def inspect_python(self, run: Invocation) -> None:
        words = read_python_words(run.arguments)
        if words.takes_code:
            self._judge_source(run)
        if words.module == "sqlite3":
            self._judge_statements((*words.words, run.text or ""), run)
        code = run.text if words.takes_code and words.code is None else words.code
        if code is None:
            self._run_file(() if words.module else words.words[:1])
            return
        is_inside = self._depth == 0 and stays_in_workspace(self._script)
        effects = list_effects_of_python(code, is_inside=is_inside)
        self._inspection.judge_code(
            iter(effects) if effects is not None else list_effects_of_code(code), self._depth
        )

    def inspect_other_code(self, run: Invocation) -> None:
        codes = [
            run.arguments[place + 1]
            for place, word in enumerate(run.arguments[:-1])
            if _CODE_OPTION.fullmatch(word)
        ]
        codes += [found[1] for word in run.arguments if (found := _ATTACHED_CODE.fullmatch(word))]
        if not codes:
            self._judge_source(run)
        if not codes and not run.operands and run.text is not None:
            codes = [run.text]
        for code in codes:
            self._inspection.judge_code(list_effects_of_code(code, run.program), self._depth)

    def _run_file(self, names: Sequence[str]) -> None:
        for name in names:
            if name in self._downloaded:
                self._inspection.add("network", "it runs what it downloads")
            if (text := self._files.get(name)) is not None:
                del self._files[name]  # once is enough, and a text may run itself
                self._inspection.inspect(text, self._depth + 1)

    # ---------------------------------------------------------------- what flows on

    def _flow(self, run: Invocation, writes: int | None) -> None:
        targets = tuple(list_written(run)) if run.redirects or run.program in WRITING else ()
        if run.program in DOWNLOADERS:
            names = [word.rpartition("/")[2] for word in run.operands]
            self._downloaded.update(
                (*targets, *(f"./{each}" for each in targets), *names, *(f"./{n}" for n in names))
            )
        if not targets and writes is None:
            return
        produced = _find_produced(run)
        text = _find_printed(run)
        for target in targets:
            if Carried.DOWNLOAD in (produced | run.carried):
                self._downloaded.update((target, f"./{target}"))
            if text is None or target in self._files:  # it may have been added to what stands there
                self._unknown_files.update((target, f"./{target}"))
            if text is not None:
                self._files[target] = self._files[f"./{target}"] = text
        if writes is not None:
            self._lists_port[writes] = self._lists_port.get(writes, True) and _lists_port(run)
            self._streams[writes] = self._streams.get(writes, frozenset()) | produced
            if text is None:
                self._unknown_streams.add(writes)
            else:
                self._printed[writes] = f"{self._printed.get(writes, '')}{text}\n"


_INSPECTIONS: Sequence[tuple[Callable[[_ScriptRun, Invocation], None], Callable[[str], object]]] = (
    (_ScriptRun.inspect_words, ("eval", "trap").__contains__),
    (_ScriptRun.inspect_file, ("source", ".").__contains__),
    (_ScriptRun.inspect_shell, _SHELL.fullmatch),
    (_ScriptRun.inspect_text_behind, ("su", "runuser", "script", "flock", "ssh", "watch").__contains__),
    (_ScriptRun.inspect_python, _PYTHON.fullmatch),
    (_ScriptRun.inspect_awk, _AWK.__contains__),
    (_ScriptRun.inspect_other_code, _INTERPRETER.fullmatch),
    (_ScriptRun.inspect_statements, CLIENTS.__contains__),
    (_ScriptRun.inspect_crontab, "crontab".__eq__),
)
"""How what a program runs is looked through that its words or its input hold, each with the names of these."""


@lru_cache(maxsize=1024)
def _find_inspection(program: str) -> Callable[[_ScriptRun, Invocation], None] | None:
    return next((inspect for inspect, concerns in _INSPECTIONS if concerns(program)), None)


def _find_printed(run: Invocation) -> str | None:
    if run.program in ("echo", "printf"):
        return print_words(run.program, run.arguments)
    if run.program in ("cat", "tee"):
        return run.text
    return None


def _find_produced(run: Invocation) -> frozenset[Carried]:
    produced: set[Carried] = set()
    program, arguments = run.program, run.arguments
    if program in DOWNLOADERS:
        produced.add(Carried.DOWNLOAD)
    if _decodes(run):
        produced.add(Carried.DECODED)
    if program in _PROCESS_LISTERS and not (_lists_port(run) or finds_only_servers(run)):
        produced.add(Carried.PROCESSES)
    if program in ("env", "printenv", "set", "export") and not arguments:
        produced.add(Carried.ENVIRONMENT)
    reads_file = program in _FILE_READERS and not all(map(is_temporary, run.operands))
    if reads_file or program in _DUMPERS:
        produced.add(Carried.FILE)
    if any(map(holds_credentials, run.operands)):
        produced.add(Carried.CREDENTIAL)
    return frozenset(produced)


def _lists_port(run: Invocation) -> bool:
    """Whether only the processes at one port are listed that is open to every user."""
    words = " ".join(run.arguments)
    return run.program == "lsof" and _PORT_LISTED.fullmatch(words) is not None


def _decodes(run: Invocation) -> bool:
    if run.program in ("printf", "echo"):
        return any(map(_ESCAPES.search, run.arguments))
    is_decoder = _DECODERS.fullmatch(run.program) is not None
    return is_decoder and (run.program == "rev" or any(map(_DECODES.fullmatch, run.arguments)))
