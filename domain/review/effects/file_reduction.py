"""Programs that read, copy, pack and delete files."""

from __future__ import annotations

from quorum.domain.review.effects.places import (
    find_secret,
    is_program_folder,
    is_record,
    is_system_program,
    starts_by_itself,
)
from quorum.domain.review.effects.program_rows import UNKNOWN_PROGRAM
from quorum.domain.review.effects.side_effect import (
    NO_DATA,
    Data,
    DataKind,
    Datum,
    EffectKind,
    find_kind,
)
from quorum.domain.review.effects.used_program import REMOTE, UsedProgram, drop_kind
from quorum.domain.review.effects.word_judgement import SECRET_WORDS, search_for_secrets
from quorum.domain.review.hazards.places import governs_agents

_SEARCHERS = frozenset({"grep", "egrep", "fgrep", "rg", "ag", "ack", "zgrep"})
_SHOWS_NO_LINES = r"-[a-zA-Z]*[cqlL][a-zA-Z]*|--count|--quiet|--files-with.*"
_IN_PLACE = r"-[a-zA-Z]*i.*|--in-place.*|--inplace|inplace"
_CHANGES_IN_PLACE = frozenset({"sed", "gsed", "yq", "ruby", "perl", "gawk"})
_EDITORS = frozenset({"vi", "vim", "nano", "emacs", "ed", "ex", "pico"})
_COMPRESSORS = {"gzip": ".gz", "bzip2": ".bz2", "xz": ".xz", "zstd": ".zst", "gpg": ".gpg"}


def show(used: UsedProgram) -> Data:
    """Take what is read, and return what comes out."""
    operands = used.operands
    if used.row is UNKNOWN_PROGRAM:
        operands = tuple(each for each in operands if "/" in each or find_secret(each))
    data = used.read(*operands)
    if used.name in _SEARCHERS:
        search_for_secrets(used.scope, used.run, operands)
        if find_kind(used.piped, DataKind.ENVIRONMENT) and any(map(SECRET_WORDS.search, used.run.arguments)):
            used.scope.add(EffectKind.REVEAL, "shows the secrets of the environment")
        return NO_DATA if used.has_option(_SHOWS_NO_LINES) else data
    changes = used.name in _CHANGES_IN_PLACE and used.has_option(_IN_PLACE)
    for path in operands:
        if changes or (used.name in _EDITORS and starts_by_itself(path)):
            used.scope.reducer.write_file(path, NO_DATA)
    if used.name in _COMPRESSORS and find_kind(data, DataKind.SECRET) is None:
        for path in operands:
            used.scope.reducer.write_file(path + _COMPRESSORS[used.name], data)
    return NO_DATA if changes else data


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
        if is_record(path) or (used.name == "mv" and any(map(is_record, sources))):
            used.scope.add(EffectKind.DISABLE, f"takes a record of the machine away: {path}", path)
    for source in sources:
        if used.name == "mv" and governs_agents(source):
            reducer.write_file(source, NO_DATA)  # what is not at its place any more holds nobody
        _judge_new_name(used, source, target)
    return NO_DATA


def _judge_new_name(used: UsedProgram, source: str, target: str) -> None:
    name = target.rpartition("/")[2]
    is_renamed = name not in (source.rpartition("/")[2], "", ".", "..") and not is_program_folder(target)
    if is_renamed and is_system_program(source) and used.name in ("cp", "mv", "install"):
        used.scope.add(EffectKind.DISGUISE, f"puts {source} under another name: {target}", target)


def copy_blocks(used: UsedProgram) -> Data:
    """Take what dd reads and writes, and return what it prints."""
    given = dict(word.split("=", 1) for word in used.run.arguments if "=" in word)
    data = used.piped | used.read(*([given["if"]] if "if" in given else ()))
    if "count" in given:
        data = drop_kind(data, DataKind.ENDLESS)
    if "of" not in given:
        return data
    used.scope.reducer.write_file(given["of"], data)
    return NO_DATA


def pack(used: UsedProgram, data: Data) -> Data:
    """Take an archive that is made or taken apart, and return what comes out."""
    reducer = used.scope.reducer
    if used.name in ("zip", "7z", "7za", "rar", "split"):
        named = [path for path in used.operands[:2] if not path.startswith("/") and path not in ("a", "u")]
        for path in named[:1]:
            reducer.write_file(path if "." in path else f"{path}.zip", data)
        return data
    archives = used.words.find("-f --file")
    if used.has_option(r"-[a-zA-Z]*[cru][a-zA-Z]*|--create|--append|--update"):
        for path in archives:
            if path != "-":
                reducer.write_file(path, data)
                data = NO_DATA
    elif fetched := find_kind(used.piped | used.read(*archives, *used.operands), DataKind.FETCHED):
        reducer.fetched_tree = fetched
    return data


def judge_endless(used: UsedProgram) -> None:
    """Take a source without an end that a program goes through to its end."""
    sources = used.piped | used.read(*(each for each in used.operands if each.startswith("/dev/")))
    if endless := find_kind(sources, DataKind.ENDLESS):
        used.scope.add(EffectKind.EXHAUST, f"goes through {endless.origin}, which has no end")


def follow_git(used: UsedProgram) -> None:
    """Take what git fetches, and where it pushes to."""
    words = [word for word in used.run.arguments if not word.startswith("-")]
    match words:
        case ["clone", *rest] | ["-C", _, "clone", *rest]:
            if address := next((each for each in rest if "://" in each or REMOTE.fullmatch(each)), None):
                used.scope.reducer.fetched_tree = Datum(DataKind.FETCHED, address)
        case ["remote", "add" | "set-url", name, *_]:
            used.scope.remotes.add(name)
        case ["push", target, *_]:
            if target in used.scope.remotes or "://" in target or REMOTE.fullmatch(target):
                used.scope.reducer.send(frozenset({Datum(DataKind.FILE, "the repository")}), target)
        case _:
            return
