"""One program as effects, by its row in the table and by what comes in to it."""

from __future__ import annotations

import re

from msgspec import Struct

from quorum.domain.replacing import replace
from quorum.domain.review.effects.encodings import decode, find_encoding, unescape
from quorum.domain.review.effects.file_reduction import copy, copy_blocks, follow_git, judge_endless, pack, show
from quorum.domain.review.effects.interpreter_reduction import InterpreterReduction
from quorum.domain.review.effects.network_reduction import connect, install, post, transfer
from quorum.domain.review.effects.program_effects import Input, Operand, parse_words
from quorum.domain.review.effects.program_rows import UNKNOWN_PROGRAM, find_row
from quorum.domain.review.effects.secret_programs import find_given_secret
from quorum.domain.review.effects.side_effect import NO_DATA, Data, DataKind, Datum, EffectKind
from quorum.domain.review.effects.started_programs import list_found
from quorum.domain.review.effects.surroundings import Output, Scope
from quorum.domain.review.effects.used_program import UsedProgram, drop_kind
from quorum.domain.review.effects.word_judgement import judge_uses, judge_words
from quorum.domain.review.hazards.invocation import Invocation

# What these print is a name of a system or a version, which addresses of downloads hold.
_PLAIN_MACHINE = frozenset(
    {"uname", "arch", "date", "lsb_release", "nproc", "dpkg", "rustc", "go", "getconf", "git"}
)
_BUILDERS = frozenset(
    {
        *("make", "gmake", "npm", "pnpm", "yarn", "pip", "pip3", "cargo", "go", "mvn", "gradle", "cmake"),
        *("bundle", "composer", "docker", "rake", "ant", "tox", "poetry", "meson", "ninja"),
    }
)
_ARCHIVERS = frozenset({"zip", "7z", "7za", "rar", "split", "tar", "unzip", "bsdtar"})
_COUNTERS = frozenset({"sha256sum", "md5sum", "sha512sum", "sha1sum", "cksum", "wc"})
_PASSES_TEXT = frozenset({"cat", "tee", "tac", "head", "tail", "sort", "tr", "cut"})
_ESCAPED = re.compile(r"\\(x[0-9a-fA-F]{2}|0?[0-7]{3})")


class ProgramReduction(Struct, frozen=True):
    """The programs that one script starts."""

    _scope: Scope

    def run(self, run: Invocation, piped: Data, substituted: Data) -> Output:
        """Take the effects of one program, and return what it prints."""
        if run.program in self._scope.functions:
            self._scope.call_function(run.arguments, substituted)
            return Output(piped)
        if run.program in ("tar", "bsdtar", "gtar") and run.arguments[:1] and run.arguments[0].isalpha():
            run = replace(run, arguments=(f"-{run.arguments[0]}", *run.arguments[1:]))  # as it was written once
        judge_words(self._scope, run)
        if (output := InterpreterReduction(self._scope).run_code(run, piped, substituted)) is not None:
            return output
        row = find_row(run)
        if row is None and "$" not in run.program:
            self._scope.add(EffectKind.UNKNOWN, f"runs {run.program}, of which nothing is known")
        known = row or UNKNOWN_PROGRAM
        used = UsedProgram(run, known, parse_words(run.arguments, known), piped, substituted, self._scope)
        judge_uses(self._scope, run, used.words)
        return _print(used, _follow_program(used, _write_output(used, _use_words(used))))


def _use_words(used: UsedProgram) -> Data:
    """Take what a program does with its words and its input, and return what comes out of it."""
    row = used.row
    data = used.piped if row.input is Input.PASS and not row.is_quiet else NO_DATA
    data |= used.read(*used.words.find(row.shows))
    match row.operands:
        case Operand.SHOW:
            data |= show(used)
        case Operand.WRITE:
            for path in used.operands:
                used.scope.reducer.write_file(path, used.piped, used.run.text)
        case Operand.COPY:
            data |= copy(used)
        case Operand.TRANSFER:
            transfer(used)
        case Operand.HOST:
            data |= connect(used)
        case Operand.RUN:
            install(used)
        case Operand.SEND | Operand.TEXT | Operand.USE:
            _send_words(used)
    return data


def _send_words(used: UsedProgram) -> None:
    """Take what is sent by a program that names no address, or names it in an option."""
    reducer, row = used.scope.reducer, used.row
    hosts = used.words.find(row.hosts)
    host = next(iter(hosts), used.name)
    for path in used.words.find(row.sends):
        reducer.send(used.read(path), host)
    for text in used.words.find(row.posts):
        post(used, text, host)
    if row.operands is Operand.SEND:
        files = (path for path in used.operands if path not in row.words.split())
        reducer.send(used.read(*files) | used.piped, host)
    elif row.operands is Operand.TEXT and row.input is Input.SEND and hosts:
        reducer.send(used.piped | used.find_data(*used.operands), host)


def _write_output(used: UsedProgram, data: Data) -> Data:
    """Add what a program gives by itself, put it into the files that it names, and return what is left."""
    row, name = used.row, used.name
    if row.gives is DataKind.MACHINE and name not in _PLAIN_MACHINE:
        is_environment = name == "printenv" and not used.operands
        data |= {Datum(DataKind.ENVIRONMENT if is_environment else row.gives, name)}
    elif row.gives is not None and row.operands is not Operand.HOST and row.gives is not DataKind.MACHINE:
        data |= {Datum(row.gives, f"the output of {name}")}
    if name in ("env", "set", "export", "declare") and not set(used.run.arguments) - {"-p", "-x", "-0"}:
        data |= {Datum(DataKind.ENVIRONMENT, name)}
    for path in used.words.find(row.writes):
        if path not in ("-", "/dev/stdout"):
            used.scope.reducer.write_file(path, data)
            data = NO_DATA
    return data


def _follow_program(used: UsedProgram, data: Data) -> Data:
    """Take what a few programs do that no row can say."""
    reducer, name = used.scope.reducer, used.name
    if secret := find_given_secret(used.run):
        data |= {secret}
    if name in _ARCHIVERS:
        data = pack(used, data)
    elif name == "dd":
        data = copy_blocks(used)
    elif name in ("rm", "rmdir", "unlink", "shred"):
        for path in used.operands:
            used.scope.add(EffectKind.DELETE, f"deletes {path}", path)
    elif name in _COUNTERS:
        judge_endless(used)
    elif name == "git":
        follow_git(used)
    elif name == "yes":
        data |= {Datum(DataKind.ENDLESS, "yes")}
    is_build = name in _BUILDERS and not {"--version", "--help", "version"}.intersection(used.run.arguments)
    if reducer.fetched_tree and is_build:
        reducer.run_data((reducer.fetched_tree,))
    return data


def _print(used: UsedProgram, data: Data) -> Output:
    """What a program prints: the data, and the text where it is known."""
    name, run, text = used.name, used.run, None
    if name in ("echo", "printf"):
        shown = [word for word in run.arguments if not re.fullmatch(r"-[neE]+", word)]
        text, data = " ".join(shown), used.find_data(*shown)
        if _ESCAPED.search(text):
            data |= {Datum(DataKind.DECODED, name)}
            text = unescape(text)
        return Output(data, text, tuple(shown)[:20])
    if (encoding := find_encoding(run)) is not None:
        data |= {Datum(DataKind.DECODED, name)}
        text = decode(encoding, run.text)
    elif name in _PASSES_TEXT:
        files = [file for each in used.operands if (file := used.scope.reducer.find_file(each))]
        is_input = not used.words.operands or name in ("tee", "tr")
        text = files[0].text if len(files) == 1 else run.text if is_input else None
    if name == "head":
        data = drop_kind(data, DataKind.ENDLESS)
    names: tuple[str, ...] = ()
    if name in ("find", "gfind"):
        names = list_found(run)
    elif name in ("ls", "locate", "mdfind", "fd"):
        names = tuple(word for word in used.words.operands if "/" in word or "*" in word)
    return Output(data, text, names)
