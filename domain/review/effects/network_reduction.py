"""Programs that talk to other machines: what they send, what they fetch, whom they let in."""

from __future__ import annotations

import re
from collections.abc import Sequence

from quorum.domain.review.effects.code_effects import reduce_code
from quorum.domain.review.effects.places import find_host, is_local, is_metadata
from quorum.domain.review.effects.program_effects import Input
from quorum.domain.review.effects.side_effect import NO_DATA, Data, DataKind, Datum, EffectKind
from quorum.domain.review.effects.used_program import (
    REMOTE,
    SUBSTITUTION,
    VARIABLE,
    WHOLE_SUBSTITUTION,
    UsedProgram,
)

_NETCATS = frozenset({"nc", "ncat", "netcat", "nc.traditional", "nc.openbsd", "socat"})
_FTP = frozenset({"ftp", "lftp", "tftp", "smbclient", "sftp"})
_PUTS = re.compile(r"\b(m?put|mirror\s+-\w*R|reput)\b")
_HTTPIE = frozenset({"http", "https", "xh", "xhs", "httpie"})
_RESOLVERS = frozenset({"dig", "nslookup", "host", "drill", "kdig", "delv", "ping", "getent"})
_NAMED_FILES = frozenset({"--data-urlencode", "--url-query", "--variable"})
_CONFIGURATIONS = frozenset({"-K", "--config"})
_CONFIGURED = frozenset({"curl", "wget", "wget2"})
_HEADERS = frozenset({"-H", "--header", "-b", "--cookie", "-u", "--user"})
_NAMED_REMOTES = frozenset({"rclone", "mc", "b2", "swift", "ossutil"})
_FILE = re.compile(r"(?:[^=@]*=)?[@<](.+)", re.DOTALL)
_NAMED_FILE = re.compile(r"[^=@]*@(.+)", re.DOTALL)
_NO_HOST = re.compile(r"-|@\S+|\+\S+|[A-Z]+")
_FETCHED_PACKAGE = re.compile(r"(git\+)?(https?|ftp|git|ssh)://|github:|git\+|[\w.-]+\.[a-z]{2,}/\S+@")


def connect(used: UsedProgram) -> Data:
    """Take what goes to another machine, and return what comes from there."""
    reducer, host = used.scope.reducer, _find_host(used)
    for path in used.words.find(used.row.sends):
        is_input = path in ("-", ".", "/dev/stdin")
        reducer.send(used.piped if is_input else used.read(path), host)
    for option, text in used.words.values:
        if option in used.row.posts.split():
            post(used, text, host, option)
        _judge_configuration(used, option, text)
    for word in used.words.operands:
        data = used.find_data(word)
        if VARIABLE.fullmatch(word) or WHOLE_SUBSTITUTION.fullmatch(word):  # it is an address
            data = frozenset(each for each in data if each.kind in (DataKind.SECRET, DataKind.ENVIRONMENT))
        reducer.send(data, host)
        if used.name in _RESOLVERS and SUBSTITUTION.search(word) and not WHOLE_SUBSTITUTION.fullmatch(word):
            used.scope.add(EffectKind.SEND, f"sends what it works out in a name that it looks up: {word}", word)
        if used.name in _HTTPIE and "://" not in word and (file := word.rpartition("@"))[1] and file[2]:
            reducer.send(used.read(file[2]), host)
    if used.name in _NETCATS and _listens(used):
        used.scope.add(EffectKind.ADMIT, f"lets other machines connect by {used.name}")
        host = "whoever connects"
    if used.name == "socat" and re.search(r"(?i)\b(exec|system|shell):", " ".join(used.run.arguments)):
        used.scope.add(EffectKind.ADMIT, "gives another machine a program to talk to")
    if used.row.input is Input.SEND:
        reducer.send(used.piped | _read_socat_files(used), host)
    if used.name in _FTP and _PUTS.search(f"{used.run.text or ''} {' '.join(used.run.arguments)}"):
        reducer.send(frozenset({Datum(DataKind.FILE, "files of this machine")}), host)
    return _fetch(used, host)


def _judge_configuration(used: UsedProgram, option: str, path: str) -> None:
    if used.name in _CONFIGURED and option in _CONFIGURATIONS and path != "/dev/null":
        does = f"takes addresses and files to send from a configuration that is not shown: {path}"
        used.scope.add(EffectKind.SEND, does, path)


def _find_host(used: UsedProgram) -> str:
    hosts = [*used.words.find(used.row.hosts), *used.words.operands]
    shown = [each for each in hosts if not VARIABLE.fullmatch(each) and not _NO_HOST.fullmatch(each)]
    named = (each for each in shown if "://" in each or "." in each or ":" in each)
    return next(named, next(iter(shown), "another machine"))


def _fetch(used: UsedProgram, host: str) -> Data:
    if any(map(is_metadata, used.words.operands)):
        return frozenset({Datum(DataKind.SECRET, "the credentials that the cloud gives this machine")})
    if used.row.gives is None or is_local(host):
        return NO_DATA
    fetched = frozenset({Datum(DataKind.FETCHED, host)})
    for word in used.words.operands:
        if "/" in word:  # it may be kept under the name that it has there
            used.scope.reducer.write_file(word.rstrip("/").rpartition("/")[2], fetched)
    return fetched


def _listens(used: UsedProgram) -> bool:
    words = " ".join(used.run.arguments)
    if "127.0.0.1" in words or "localhost" in words:
        return False
    if used.name == "socat":
        return re.search(r"(?i)\b(\w+-)?listen:", words) is not None
    return used.has_option(r"-[a-zA-Z46]*l[a-zA-Z0-9]*|--listen")


def _read_socat_files(used: UsedProgram) -> Data:
    if used.name != "socat":
        return NO_DATA
    found = re.findall(r"(?i)\b(?:FILE|OPEN|GOPEN):([^,\s]+)", " ".join(used.run.arguments))
    return used.read(*(each for each in found if not each.startswith("/dev/tty")))


def post(used: UsedProgram, text: str, host: str, option: str = "") -> None:
    """Take a text that is sent, or the file that it names."""
    data = used.find_data(text)
    if option in _HEADERS and not text.startswith("@"):  # a key goes to its own service in a header
        data = frozenset(
            each for each in data if each.kind is not DataKind.SECRET or not each.origin.startswith("$")
        )
    elif found := (_NAMED_FILE if option in _NAMED_FILES else _FILE).match(text):
        path = found[1].partition(";")[0]
        if path in ("-", "/dev/stdin", "."):
            data |= used.piped
        elif not SUBSTITUTION.search(path):
            data |= used.read(path)
    used.scope.reducer.send(data, host)


def transfer(used: UsedProgram) -> None:
    """Take files that are copied from one machine to another."""
    reducer = used.scope.reducer
    paths = _drop_subcommand(used)
    if len(paths) < 2:
        return
    *sources, target = paths
    fetched = frozenset(Datum(DataKind.FETCHED, each) for each in sources if _is_remote(used, each))
    own = [each for each in sources if not _is_remote(used, each)]
    if _is_remote(used, target):
        for source in own:
            data = used.read(source) or frozenset({Datum(DataKind.FILE, source)})
            reducer.send(data, target.partition("://")[2] or target.partition(":")[0] or target)
        return
    reducer.write_file(target, fetched | used.read(*own))
    for source in sources:
        if fetched:
            reducer.write_file(source.rpartition("/")[2], fetched)


def _drop_subcommand(used: UsedProgram) -> Sequence[str]:
    for words in used.row.words.split("|"):
        given = [word for word in words.split() if not word.startswith("-")]
        if given and list(used.operands[: len(given)]) == given:
            return used.operands[len(given) :]
    return used.operands


def _is_remote(used: UsedProgram, path: str) -> bool:
    if used.name in _NAMED_REMOTES:
        return ":" in path or (used.name != "rclone" and not path.startswith(("/", ".")))
    return REMOTE.fullmatch(path) is not None


def install(used: UsedProgram) -> None:
    """Take the packages, images and files that a program installs or runs."""
    reducer = used.scope.reducer
    for path in (*used.operands, *used.words.find(used.row.shows), *used.words.find("-r -f -i")):
        if (file := reducer.find_file(path)) is not None:
            reducer.run_data(file.data)
            if file.text is not None and path.endswith((".go", ".rs", ".js", ".ts")):
                reduce_code(file.text, reducer, program=used.name)
        elif _FETCHED_PACKAGE.match(path):
            reducer.run_data(frozenset({Datum(DataKind.FETCHED, path.removeprefix("git+"))}))
    for address in used.words.find("-i --index-url --extra-index-url --registry --source"):
        if "://" in address and not is_local(address):
            does = f"takes packages from {find_host(address)}"
            used.scope.add(EffectKind.RUN_FETCHED, does, address)
    if used.row.input is Input.RUN and (not used.operands or "-" in used.operands):
        reducer.run_data(used.piped)
