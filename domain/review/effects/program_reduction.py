"""One program as effects, by its row in the table and by what comes in to it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

from quorum.domain.replacing import replace
from quorum.domain.review.effects.archive_reduction import change_form, copy_blocks, pack
from quorum.domain.review.effects.code_effects import reduce_code
from quorum.domain.review.effects.database_files import write_database
from quorum.domain.review.effects.git_reduction import find_shown_by_git, follow_git, take_changes
from quorum.domain.review.effects.interpreter_reduction import InterpreterReduction, change_in_place
from quorum.domain.review.effects.own_words import judge_own_words
from quorum.domain.review.effects.places import (
    find_host,
    find_secret,
    is_local,
    is_metadata,
    is_program_folder,
    is_record,
    is_system_program,
    starts_by_itself,
)
from quorum.domain.review.effects.program_effects import (
    INPUTS,
    REMOTE,
    SUBSTITUTION,
    VARIABLE,
    WHOLE_SUBSTITUTION,
    Input,
    Operand,
    UsedProgram,
    decode,
    drop_kind,
    find_encoding,
    find_given_secret,
    list_hosts,
    parse_words,
    read_notes,
    unescape,
)
from quorum.domain.review.effects.program_rows import UNKNOWN_PROGRAM, find_row
from quorum.domain.review.effects.project_files import do_project, list_taken
from quorum.domain.review.effects.secret_owners import drop_own, drop_usual_keys
from quorum.domain.review.effects.side_effect import (
    NO_DATA,
    VARIABLES_OF,
    Data,
    DataKind,
    Datum,
    EffectKind,
    find_kind,
)
from quorum.domain.review.effects.surroundings import Output, Scope
from quorum.domain.review.effects.word_judgement import (
    SECRET_WORDS,
    judge_program_name,
    judge_uses,
    judge_words,
    search_for_secrets,
    shows_names_alone,
)
from quorum.domain.review.hazards.invocation import Invocation, is_rehearsed, print_words
from quorum.domain.review.hazards.places import governs_agents
from quorum.domain.review.hazards.started_programs import list_found

_NETCATS = frozenset({"nc", "ncat", "netcat", "nc.traditional", "nc.openbsd", "socat"})
_FTP = frozenset({"ftp", "lftp", "tftp", "smbclient", "sftp"})
_PUTS = re.compile(r"\b(m?put|mirror\s+-\w*R|reput)\b")
_HTTPIE = frozenset({"http", "https", "xh", "xhs", "httpie"})
_RESOLVERS = frozenset({"dig", "nslookup", "host", "drill", "kdig", "delv", "ping", "getent"})
_NAMED_FILES = frozenset({"--data-urlencode", "--url-query", "--variable"})
_CONFIGURATIONS = frozenset({"-K", "--config"})
_CONFIGURED = frozenset({"curl", "wget", "wget2"})
_FOLLOWS_LISTS = frozenset({"wget", "wget2", "aria2c"})
_HEADERS = frozenset(
    {
        *("-H", "--header", "-b", "--cookie", "-u", "--user", "-a", "--auth"),
        *("--password", "--oauth2-bearer", "--http-passwd"),
    }
)
_SHOWS_FETCHED = frozenset({"GET", "HEAD", "lwp-request", "lynx", "links", "elinks"})
_PROXIES = frozenset({"-x", "--proxy", "--preproxy"})
_COOKIES = frozenset({"-b", "--cookie"})
_HEADER = re.compile(r"[\w-]+:(?![/=])")
_NAMED_REMOTES = frozenset({"rclone", "mc", "b2", "swift", "ossutil"})
_FILE = re.compile(r"(?:[^=@]*=)?[@<](.+)", re.DOTALL)
_NAMED_FILE = re.compile(r"[^=@]*@(.+)", re.DOTALL)
_FETCHED_PACKAGE = re.compile(r"(git\+)?(https?|ftp|git|ssh)://|github:|git\+|[\w.-]+\.[a-z]{2,}/\S+@")


def connect(used: UsedProgram) -> Data:
    """Take what goes to another machine, and return what comes from there."""
    reducer, hosts = used.scope.reducer, list_hosts(used)
    host = hosts[0]
    used.scope.add(EffectKind.CONNECT, f"connects to {find_host(host)}", host)
    for path in used.words.find(used.row.sends):
        is_input = path in ("-", ".", "/dev/stdin")
        for each in hosts:
            reducer.send(used.piped if is_input else used.read(path), each)
    for option, text in used.words.values:
        for each in hosts if option in used.row.posts.split() else ():
            post(used, text, each, option)
        if option in _PROXIES:  # with a login, as in an address
            reducer.send(drop_own(used.find_data(text), text), text)
        _judge_configuration(used, option, text)
    _follow_lists(used, host)
    for word in used.words.operands:
        _send_operand(used, word, host)
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


def _send_operand(used: UsedProgram, word: str, host: str) -> None:
    """Take what is sent in an address, or in a word of a program that takes the parts of a request as words."""
    reducer, data = used.scope.reducer, used.find_data(word)
    if VARIABLE.fullmatch(word) or WHOLE_SUBSTITUTION.fullmatch(word):  # it is an address
        data = frozenset(each for each in data if each.kind in (DataKind.SECRET, DataKind.ENVIRONMENT))
    elif "://" in word:
        data = drop_own(data, word)
    elif used.name in _HTTPIE and _HEADER.match(word):
        data = drop_usual_keys(data, host)
    if word.startswith(("/", "~", ".")) and "://" not in word and find_secret(word):
        data |= used.read(word)
    reducer.send(data, host)
    if used.name in _RESOLVERS and SUBSTITUTION.search(word) and not WHOLE_SUBSTITUTION.fullmatch(word):
        used.scope.add(EffectKind.SEND, f"sends what it works out in a name that it looks up: {word}", word)
    if used.name in _HTTPIE and "://" not in word and (file := word.rpartition("@"))[1] and file[2]:
        reducer.send(used.read(file[2]), host)


def _follow_lists(used: UsedProgram, host: str) -> None:
    """Take files of addresses: what they hold is asked for, and what comes has names that are not shown."""
    for path in used.words.find("-i --input-file") if used.name in _FOLLOWS_LISTS else ():
        secrets = (each for each in used.read(path) | used.piped if each.kind is DataKind.SECRET)
        used.scope.reducer.send(frozenset(secrets), host)
        used.scope.reducer.fetched_tree = Datum(DataKind.FETCHED, "addresses that are not shown")
    if used.name in _FOLLOWS_LISTS and used.has_option(r"-[a-zA-Z]*[rm][a-zA-Z]*|--recursive|--mirror"):
        used.scope.reducer.fetched_tree = Datum(DataKind.FETCHED, host)


def _judge_configuration(used: UsedProgram, option: str, path: str) -> None:
    if used.name in _CONFIGURED and option in _CONFIGURATIONS and path != "/dev/null":
        does = f"takes addresses and files to send from a configuration that is not shown: {path}"
        used.scope.add(EffectKind.SEND, does, path)


def _fetch(used: UsedProgram, host: str) -> Data:
    if any(map(is_metadata, used.words.operands)):
        return frozenset({Datum(DataKind.SECRET, "the credentials that the cloud gives this machine")})
    if used.row.gives is None:
        return NO_DATA
    fetched = NO_DATA if is_local(host) else frozenset({Datum(DataKind.FETCHED, host)})
    if used.name == "curl" and not used.has_option(r"-[a-zA-Z#]*O|--remote-name(-all)?"):
        return fetched
    named = "-O --output-document" if used.name in ("wget", "wget2") else "-O -o --out --output"
    if used.name in _SHOWS_FETCHED or (used.name != "curl" and used.words.find(named)):
        return fetched
    folders = used.words.find("-P --directory-prefix --output-dir -d --dir") if used.name != "curl" else []
    for word in used.words.operands:
        if (
            "/" in word.partition("://")[2] or "://" not in word
        ):  # it may be kept under the name that it has there
            name = word.rstrip("/").rpartition("/")[2]
            used.scope.reducer.write_file("/".join((*folders[-1:], name)), fetched)
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
    if option in _COOKIES and "=" not in text:
        data |= used.read(text)
    elif option in _HEADERS and not text.startswith("@"):
        data = drop_usual_keys(data, host)
    elif found := (_NAMED_FILE if option in _NAMED_FILES else _FILE).match(text):
        path = found[1].partition(";")[0]
        if path in ("-", "/dev/stdin", "."):
            data |= used.piped
        elif not SUBSTITUTION.search(path):
            data |= used.read(path)
    used.scope.reducer.send(data, host)


def transfer(used: UsedProgram) -> Data:
    """Take files that are copied from one machine to another, and return what comes out instead."""
    reducer = used.scope.reducer
    paths = _drop_subcommand(used)
    if len(paths) < 2 or is_rehearsed(used.run):
        return NO_DATA
    place = _find_target(used, paths)
    target, sources = paths[place], paths[:place]
    fetched = frozenset(Datum(DataKind.FETCHED, each) for each in sources if _is_remote(used, each))
    own = [each for each in sources if not _is_remote(used, each)]
    for path in paths:
        if _is_remote(used, path):
            used.scope.add(EffectKind.CONNECT, f"connects to {find_host(path)}", path)
    if _is_remote(used, target):
        for source in own:
            data = used.read(source) or frozenset({Datum(DataKind.FILE, source)})
            reducer.send(data, target.partition("://")[2] or target.partition(":")[0] or target)
        return NO_DATA
    if target in ("-", "/dev/stdout"):
        return fetched | used.read(*own)
    reducer.write_file(target, fetched | used.read(*own))
    for source in sources:
        if fetched:
            reducer.write_file(re.split("[/:]", source)[-1], fetched)
    return NO_DATA


def _find_target(used: UsedProgram, paths: Sequence[str]) -> int:
    """The place of the path that is copied to: the last one that cannot be the value of an unknown option."""
    doubtful = {
        word for option, word in pairwise(used.run.arguments) if option.startswith("--") and "=" not in option
    }
    places = (place for place in range(len(paths) - 1, 0, -1) if paths[place] not in doubtful)
    return next(places, len(paths) - 1)


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


def install(used: UsedProgram) -> Data:
    """Take the packages, images and files that a program installs or runs, and return what these show."""
    reducer, shown = used.scope.reducer, NO_DATA
    files = used.words.find(f"{used.row.shows} -r -f -i -c --requirement --file")
    for path in (*used.operands, *files, *list_taken(used)):
        if path == "/dev/stdin" and used.run.text is not None:
            shown |= reduce_code(used.run.text, reducer, program=used.name)
        elif (file := reducer.find_file(path)) is not None:
            reducer.run_data(file.data)
            if file.text is not None and path.endswith(_COMPILED):
                shown |= reduce_code(file.text, reducer, program=used.name)
        elif used.name in _OPENERS and "://" in path:
            reducer.send(used.find_data(path), path)
        elif _FETCHED_PACKAGE.match(path) and not (is_local(path) or _names_module(used)):
            reducer.run_data(frozenset({Datum(DataKind.FETCHED, path.removeprefix("git+"))}))
        elif path.startswith("<(") or WHOLE_SUBSTITUTION.fullmatch(path):  # a list says what is installed
            reducer.run_data(used.find_data(path))
    for address in used.words.find("-i --index-url --extra-index-url --registry --source --server"):
        if "://" in address and not is_local(address):
            does = f"takes packages from {find_host(address)}"
            used.scope.add(EffectKind.RUN_FETCHED, does, address)
    named = (*used.operands, *files)
    if used.row.input is Input.RUN and (not named or INPUTS.intersection(named) or named == ("load",)):
        reducer.run_data(used.piped)
    return shown


def _names_module(used: UsedProgram) -> bool:
    """Whether it installs modules of Go by their names, which hold a host as those of other packages do not."""
    return used.name == "go" and used.run.arguments[:1] in (("install",), ("get",))


_CODE = (
    *(".sh", ".bash", ".ps1", ".kts", ".lua", ".el", ".groovy", ".gvy", ".tcl", ".jl", ".exs", ".clj", ".rkt"),
    *(".scm", ".lisp", ".hs", ".ml", ".awk", ".vim", ".applescript", ".exe", ".jar", ".wasm", ".so", ".dll"),
)
"""Files that hold little else than code, so that a program of which nothing is known runs them."""
_COMPILED = (
    ".go",
    ".rs",
    ".js",
    ".ts",
    ".java",
    ".kt",
    ".kts",
    ".cs",
    ".csx",
    ".scala",
    ".sc",
    ".swift",
    ".dart",
    ".zig",
    ".d",
)
_OPENERS = frozenset({"open", "xdg-open", "gio"})
_SEARCHERS = frozenset({"grep", "egrep", "fgrep", "rg", "ag", "ack", "zgrep"})
_SQLITES = frozenset({"sqlite3", "sqlite", "duckdb"})
_WRITES_SECOND = frozenset({"uniq", "lz4", "xxd"})
_TAKES_ONE_FILE = _SQLITES | _WRITES_SECOND | {"split", "csplit"}
"""Behind the file stand statements, how its parts are called, or a file that is written."""
_SHOWS_NO_LINES = r"-[a-zA-Z]*[cqlL][a-zA-Z]*|--count|--quiet|--files-with.*"
# Of what these print, the lines with such words hold the secrets themselves.
_PRINTS_SETTINGS = frozenset({"history", "ps", "docker", "podman", "systemctl", "pm2"})
_KEYS = frozenset({"key", "keys", "_key", "pwd", "auth", "cred", "creds"})
_PICKS_FIELDS = frozenset({"jq", "gojq", "jaq", "yq", "dasel"})
_ENVIRONMENT_FIELD = re.compile(r"\bEnv\b")
_IN_PLACE = r"-[a-zA-Z0-9]*i.*|--in-place.*|--inplace|inplace"
_CHANGES_IN_PLACE = frozenset({"sed", "gsed", "yq", "ruby", "perl", "gawk"})
_SED_WRITES = re.compile(r"(?:(?:^|[;{}\n]|[\d$/])[ \t]*|/[a-zA-Z0-9]*)w[ \t]+([^\s;}]+)")
_SED_READS = re.compile(r"(?:^|[;{}\n]|[\d$/])[ \t]*[rR][ \t]+([^\s;}]+)")
_EDITORS = frozenset(
    {"vi", "vim", "nvim", "gvim", "mvim", "view", "rvim", "nano", "emacs", "emacsclient", "ed", "ex", "pico"}
)
_TYPED_INTO = frozenset({"vi", "vim", "nvim", "view", "gvim", "mvim", "rvim"})
_READS_ORDERS = r"-[a-zA-Z]*[es]|--script=-"
_ORDER_FILES = re.compile(
    r"(?:^|\|)\s*:?(?:so(?:urce)?|luafile|pyfile|rubyfile)!?\s+(\S+)|\(load(?:-file)?\s+\"([^\"]+)\""
)
_SAVES = re.compile(r"(?:^|\|)\s*:?(?:\d*,?\d*|%)(?:wq?a?|x|up(?:date)?|write)!?\s*$")
"""The order to an editor to write the file that it has open."""
_WRITTEN_BY_ORDER = re.compile(r"(?:^|\|)\s*:?(?:w(?:rite)?|sav(?:eas)?)!?\s+(?:>>\s*)?([/~.\w]\S*)")


def show(used: UsedProgram) -> Data:
    """Take what is read, and return what comes out."""
    operands = _find_shown_files(used)
    addresses = frozenset(each for each in operands if "://" in each) if used.row is UNKNOWN_PROGRAM else ()
    data = used.read(*(each for each in operands if each not in addresses))
    data |= frozenset(Datum(DataKind.FETCHED, each) for each in addresses if not is_local(each))
    if used.row is UNKNOWN_PROGRAM:  # what it logs in with is not shown, but may be in what it hands on
        data |= frozenset(Datum(DataKind.FILE, path) for path in used.words.find(used.row.values))
        code = used.read(*(path for path in used.operands if path.endswith(_CODE) and "://" not in path))
        used.scope.reducer.run_data(each for each in code if each.kind is DataKind.FETCHED)
    if used.name in _SEARCHERS:
        search_for_secrets(used.scope, used.run, operands)
        words = [word.lower() for word in used.run.arguments]
        is_whole = find_kind(used.piped, DataKind.ENVIRONMENT) is not None
        if (
            any(map(SECRET_WORDS.search, words))
            or "pass" in words
            or (is_whole and not _KEYS.isdisjoint(words))
        ):
            _judge_filtered(used)
        return NO_DATA if used.has_option(_SHOWS_NO_LINES) else data
    if used.name in _PICKS_FIELDS and any(map(_ENVIRONMENT_FIELD.search, used.run.arguments)):
        _judge_filtered(used)
    for path in used.operands[1:2] if used.name in _WRITES_SECOND else ():
        used.scope.reducer.write_file(path, data | used.piped)
    changes = used.name in _CHANGES_IN_PLACE and used.has_option(_IN_PLACE)
    if used.name in _SQLITES:
        write_database(used)
    _change_files(used, operands, in_place=changes)
    if used.name in ("sed", "gsed"):
        for script in (*used.words.operands[:1], *used.words.find("-e --expression")):
            data |= used.read(*_SED_READS.findall(script))
            for found in _SED_WRITES.finditer(script):
                used.scope.reducer.write_file(found[1], data | used.piped)
    change_form(used, operands, data)
    return NO_DATA if changes else data


def _change_files(used: UsedProgram, paths: Sequence[str], *, in_place: bool) -> None:
    is_editor = used.name in _EDITORS
    for path in paths:
        if in_place or (is_editor and starts_by_itself(path)):
            change_in_place(used.scope, used.run, path)
    if is_editor:
        _follow_orders(used)


def _follow_orders(used: UsedProgram) -> None:
    """Take the orders that an editor reads from files and from its input."""
    reducer = used.scope.reducer
    typed = used.run.find_values("-s") if used.name in _TYPED_INTO and "-e" not in used.run.arguments else ()
    reducer.run_data(used.read(*used.words.find(used.row.shows), *typed))
    if used.has_option(_READS_ORDERS) or used.name in ("ed", "ex"):
        reducer.run_data(used.piped)
    lines = (used.run.text or "").splitlines() if used.name in ("ed", "ex") else ()
    plus = (word[1:] for word in used.run.arguments if word.startswith("+"))
    orders = (*used.words.find("-c --cmd -eval --eval --execute"), *lines, *plus)
    if any(map(_SAVES.search, orders)):
        for path in _find_shown_files(used):
            reducer.write_file(path, NO_DATA)
    if used.name in ("emacs", "emacsclient") and orders:
        used.scope.add(EffectKind.UNKNOWN, f"runs code of {used.name}, whose calls are not all known")
    for code in orders:
        for found in _ORDER_FILES.finditer(code):
            reducer.run_data(reducer.read_file(found[1] or found[2]))
        for path in _WRITTEN_BY_ORDER.findall(code):
            reducer.write_file(path, NO_DATA)
        if used.name == "emacs":
            reduce_code(code, reducer, program="emacs")


def _find_shown_files(used: UsedProgram) -> Sequence[str]:
    if used.row is UNKNOWN_PROGRAM:
        return [each for each in used.operands if "/" in each or find_secret(each)]
    return used.operands[:1] if used.name in _TAKES_ONE_FILE else used.operands


def _judge_filtered(used: UsedProgram) -> None:
    printed = find_kind(used.piped, DataKind.MACHINE)
    if find_kind(used.piped, DataKind.ENVIRONMENT):
        used.scope.add(EffectKind.REVEAL, "shows the secrets of the environment")
    elif printed and printed.origin in _PRINTS_SETTINGS:
        used.scope.add(EffectKind.REVEAL, f"picks the secrets out of what {printed.origin} prints")


def copy(used: UsedProgram) -> Data:
    """Take files that are copied, moved or linked, and return what comes out instead."""
    folders = [value for option, value in used.words.values if option in ("-t", "--target-directory")]
    *sources, target = (*used.operands, *folders) or ("",)
    if not sources or target.startswith("/dev/"):
        return NO_DATA
    data = used.read(*sources)
    if target == "-":
        return data
    if used.name in ("ln", "mv"):
        data = drop_kind(data, DataKind.FILE)
    reducer = used.scope.reducer
    text = file.text if len(sources) == 1 and (file := reducer.find_file(sources[0])) else None
    inside = [f"{target.rstrip('/')}/{each.rstrip('/').rpartition('/')[2]}" for each in sources]
    for path in inside if target.endswith("/") or len(sources) > 1 else (target, *inside):
        reducer.write_file(path, data, text)
        if not all(map(is_system_program, sources)):
            judge_program_name(used.scope, path)
        if is_record(path) or (used.name == "mv" and any(map(is_record, sources))):
            used.scope.add(EffectKind.DISABLE, f"takes a record of the machine away: {path}", path)
    for source in sources:
        if used.name == "mv":
            used.scope.add(EffectKind.DELETE, f"moves {source} away", source)
        if used.name == "mv" and governs_agents(source):
            reducer.write_file(source, NO_DATA)  # what is not at its place any more holds nobody
        _judge_new_name(used, source, target)
    return NO_DATA


_FOUND_PROGRAM = re.compile(r"\"?\$\((?:which|command -v|type -[pP]) ([\w.+-]+)\)\"?")


def _judge_new_name(used: UsedProgram, source: str, target: str) -> None:
    name = target.rpartition("/")[2]
    if found := _FOUND_PROGRAM.fullmatch(source):
        source = f"/usr/bin/{found[1]}"
    before = source.rpartition("/")[2]
    is_renamed = name not in (before, "", ".", "..") and not is_program_folder(target)
    if used.name == "ln":  # a version by the name without it, among the programs of an environment
        is_renamed = is_renamed and not (before.startswith(name) or re.search(r"(^|/)s?bin/", target))
    if is_renamed and is_system_program(source) and used.name in ("cp", "mv", "install", "ln"):
        used.scope.add(EffectKind.DISGUISE, f"puts {source} under another name: {target}", target)


def judge_endless(used: UsedProgram) -> None:
    """Take a source without an end that a program goes through to its end."""
    sources = used.piped | used.read(*(each for each in used.operands if each.startswith("/dev/")))
    if endless := find_kind(sources, DataKind.ENDLESS):
        used.scope.add(EffectKind.EXHAUST, f"goes through {endless.origin}, which has no end")


# What these print is a name of a system or a version, which addresses of downloads hold.
_PLAIN_MACHINE = frozenset(
    {"uname", "arch", "date", "lsb_release", "nproc", "dpkg", "rustc", "go", "getconf", "git"}
)
_ARCHIVERS = frozenset({"ar", "zip", "7z", "7za", "rar", "split", "csplit", "tar", "unzip", "bsdtar"})
_FINDERS = frozenset({"find", "gfind", "bfs"})
_TAKES_NAMES = {
    "cpio": r"-[a-zA-Z0-9]*o[a-zA-Z0-9]*|--create",
    "pax": r"-[a-zA-Z]*w[a-zA-Z]*",
    "zip": r"-[a-zA-Z]*@|--names-stdin",
    **dict.fromkeys(("tar", "bsdtar", "gtar"), r"-[a-zA-Z]*T.*|--files-from.*"),
}
"""The options by which archivers read the names of files, and put the files into what comes out."""
_DELETERS = frozenset({"rm", "rmdir", "unlink", "shred", *_FINDERS})
_COUNTERS = frozenset(
    {"tail", "sort", "tac", "shuf", "sha256sum", "md5sum", "sha512sum", "sha1sum", "cksum", "wc"}
)
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
        for effect in judge_own_words(run, is_known=row is not None):
            self._scope.reducer.add(effect if self._scope.is_seen_elsewhere else replace(effect, request=None))
        words = parse_words(run.arguments, known)
        if run.leading:
            words = replace(words, values=(*parse_words(run.leading, known).values, *words.values))
        used = UsedProgram(run.program, run, known, words, piped, substituted, self._scope)
        judge_uses(self._scope, run, used.words)
        return _print(used, _follow_program(used, _write_output(used, _use_words(used))))


_SENDING_WORDS = re.compile(r"send|post|upload|publish|share|paste|notify|message|tweet")
"""What a program is told to do that sends, whichever it is."""


def _use_words(used: UsedProgram) -> Data:
    """Take what a program does with its words and its input, and return what comes out of it."""
    row = used.row
    data = used.piped if row.input is Input.PASS and not row.is_quiet else NO_DATA
    if used.name in _SEARCHERS:  # of which variables there are, it shows one by name
        data = frozenset(each for each in data if not each.origin.startswith(VARIABLES_OF))
    if used.words.values:
        data |= used.read(*used.words.find(row.shows)) | used.find_data(*used.words.find(row.named))
    match row.operands:
        case Operand.SHOW:
            data |= show(used)
            if row is UNKNOWN_PROGRAM and _SENDING_WORDS.fullmatch(next(iter(used.words.operands), "")):
                reducer = used.scope.reducer
                reducer.send(data | used.piped | used.find_data(*used.words.operands), used.name)
        case Operand.READ:
            used.read(*used.operands)
        case Operand.WRITE:
            _write_operands(used)
        case Operand.COPY:
            data |= copy(used)
        case Operand.TRANSFER:
            data |= transfer(used)
        case Operand.HOST:
            data |= connect(used)
        case Operand.RUN:
            data |= install(used)
        case Operand.SEND | Operand.TEXT | Operand.USE:
            _send_words(used)
    return drop_kind(data, DataKind.SECRET) if shows_names_alone(used.run) else data


def _write_operands(used: UsedProgram) -> None:
    is_patch = used.name == "patch"  # which reads its second file
    if is_patch and used.has_option("--dry-run|-C|--check"):
        used.read(*used.operands, *used.words.find(used.row.shows))
        return
    for path in used.operands[:1] if is_patch else used.operands:
        used.scope.reducer.write_file(path, used.piped, used.run.text)
        judge_program_name(used.scope, path)
    if is_patch:
        given = used.read(*used.operands[1:2], *used.words.find(used.row.shows))
        take_changes(used, given or used.piped)


def _send_words(used: UsedProgram) -> None:
    """Take what is sent by a program that names no address, or names it in an option."""
    reducer, row = used.scope.reducer, used.row
    if row.operands is not Operand.SEND and not used.words.values:
        return
    hosts = used.words.find(row.hosts)
    host = next(iter(hosts), used.name)
    reducer.send(used.read(*used.words.find(row.sends)) | read_notes(used), host)
    for text in used.words.find(row.posts):
        post(used, text, host)
    if row.operands is Operand.SEND:
        files = (path for path in used.operands if path not in row.words.split())
        reducer.send(used.read(*files) | used.piped, host)
    elif row.operands is Operand.TEXT and row.input in (Input.SEND, Input.FOLLOW) and hosts:
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
    if not used.words.values:
        return data
    written = [path for path in used.words.find(row.writes) if path not in ("-", "/dev/stdout")]
    for path in written:
        used.scope.reducer.write_file(path, data)
        if used.name == "ssh-keygen" and not used.has_option("-[pRcs]"):
            used.scope.reducer.write_file(f"{path}.pub", NO_DATA)
    return NO_DATA if written else data


def _follow_program(used: UsedProgram, data: Data) -> Data:
    """Take what a few programs do that no row can say."""
    reducer, name = used.scope.reducer, used.name
    if secret := find_given_secret(used.run):
        data |= {secret}
    if source := _find_remote_source(used):
        data |= {Datum(DataKind.FETCHED, source)}
    if name in _TAKES_NAMES and used.has_option(_TAKES_NAMES[name]):
        data |= {Datum(DataKind.FILE, "the files that it is given")}
        used.scope.add(EffectKind.READ, f"reads the files that {name} is given", "$x")
    if name in _ARCHIVERS:
        data = pack(used, data)
    elif name == "dd":
        data = copy_blocks(used)
    elif name in _DELETERS:
        _delete(used)
    elif name in _COUNTERS:
        judge_endless(used)
    elif name == "git":
        follow_git(used)
        data |= find_shown_by_git(used)
    elif name == "yes":
        data |= {Datum(DataKind.ENDLESS, "yes")}
    do_project(used)
    if used.row.input is Input.FOLLOW or (name == "parallel" and not used.operands):
        given = used.piped | used.read(*used.words.find(used.row.shows))
        reducer.run_data(each for each in given if each.kind is DataKind.FETCHED)
    return data


def _find_remote_source(used: UsedProgram) -> str | None:
    """The machine that the output of a program comes from which can also work on this one."""
    match used.name, used.operands[:1]:
        case "gh", ("api",):
            return "github.com"
        case "git", ("archive",):
            return next(used.run.find_values("--remote"), None)
        case _ if used.row.input is Input.FOLLOW:
            hosts = (each for each in used.words.find(used.row.hosts) if not is_local(each))
            return next(hosts, None)
        case _:
            return None


def _delete(used: UsedProgram) -> None:
    deleted: Sequence[str] = used.operands
    if used.name in _FINDERS:
        deleted = (list_found(used.run) or used.operands[:1]) if "-delete" in used.run.arguments else ()
    elif used.name == "shred":
        for path in deleted:
            used.scope.reducer.write_file(path, NO_DATA)
        deleted = deleted if used.has_option(r"-[a-z]*u[a-z]*|--remove.*") else ()
    for path in deleted:
        used.scope.add(EffectKind.DELETE, f"deletes {path}", path)


def _print(used: UsedProgram, data: Data) -> Output:
    """What a program prints: the data, and the text where it is known."""
    name, run, text = used.name, used.run, None
    if name in ("echo", "printf"):
        shown = [word for word in run.arguments if not re.fullmatch(r"-[neE]+", word)]
        text, data = print_words(name, run.arguments), used.find_data(*shown)
        if "-e" in run.arguments:
            text = text.replace("\\n", "\n").replace("\\t", "\t")
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
    if name in _FINDERS:
        names = list_found(run)
    elif name in ("ls", "locate", "mdfind", "fd"):
        names = tuple(word for word in used.words.operands if "/" in word or "*" in word)
    return Output(data, text, names)
