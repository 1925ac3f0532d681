"""Archives and blocks as effects: what goes into them, and what comes out."""

from __future__ import annotations

from collections.abc import Sequence

from quorum.domain.review.effects.program_effects import UsedProgram, drop_kind
from quorum.domain.review.effects.side_effect import NO_DATA, Data, DataKind, EffectKind, find_kind

_TO_OUTPUT = r"-[a-zA-Z0-9]*[cdlt][a-zA-Z0-9]*|--stdout|--decompress|--list|--test"
_ONLY_LOOKS = r"-[a-zA-Z0-9]*[clt][a-zA-Z0-9]*|--stdout|--to-stdout|--list|--test|-o.*"
_UNPACKERS = {"gunzip": "gzip", "bunzip2": "bzip2", "unxz": "xz", "unzstd": "zstd"}
_COMPRESSORS = {"gzip": ".gz", "bzip2": ".bz2", "xz": ".xz", "zstd": ".zst", "gpg": ".gpg"}

_CHANGES_ARCHIVE = frozenset("dmqrs")


def change_form(used: UsedProgram, paths: Sequence[str], data: Data) -> None:
    """Take files that a program puts into another form beside, or in the place of, the former one."""
    if used.name in _COMPRESSORS and find_kind(data, DataKind.SECRET) is None and not used.words.find("-o"):
        for path in () if used.has_option(_TO_OUTPUT) else paths:
            ending = next(iter(used.words.find("-S --suffix")), _COMPRESSORS[used.name])
            used.scope.reducer.write_file(path + ending, data)
            if _drops_former(used):
                used.scope.add(EffectKind.DELETE, f"puts {path} in another form", path)
    _unpack_in_place(used, paths)


def _drops_former(used: UsedProgram) -> bool:
    """Whether a file is no more there once its other form is."""
    if used.name in ("gpg", "zstd", "unzstd"):
        return used.has_option("--rm")
    return not used.has_option(r"-[a-zA-Z0-9]*[kc][a-zA-Z0-9]*|--keep|--stdout|--to-stdout")


def _unpack_in_place(used: UsedProgram, paths: Sequence[str]) -> None:
    """Take files that a program puts in the place of packed ones."""
    packs = _UNPACKERS.get(used.name, used.name)
    ending = _COMPRESSORS.get(packs, "")
    if not ending or packs == "gpg":
        return
    unpacks = used.name in _UNPACKERS or used.has_option(r"-[a-zA-Z0-9]*d[a-zA-Z0-9]*|--decompress")
    if not unpacks or used.has_option(_ONLY_LOOKS):
        return
    for path in paths:
        used.scope.reducer.write_file(path.removesuffix(ending), used.read(path))
        if _drops_former(used):
            used.scope.add(EffectKind.DELETE, f"puts {path} in another form", path)


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
    if used.name == "ar":
        return _pack_objects(used)
    if used.has_option("--remove-files") or (
        used.name == "zip" and used.has_option("-[a-zA-Z]*m[a-zA-Z]*|--move")
    ):
        for path in used.operands[1:] if used.name == "zip" else used.operands:
            used.scope.add(EffectKind.DELETE, f"moves {path} into an archive", path)
    if used.name in ("zip", "7z", "7za", "rar"):
        named = [path for path in used.operands[:2] if not path.startswith("/") and path not in ("a", "u")]
        for path in named[:1]:
            reducer.write_file(path if "." in path else f"{path}.zip", data)
        return data
    if used.name in ("split", "csplit"):
        prefixes = used.words.operands[1:2] if used.name == "split" else tuple(used.words.find("-f --prefix"))
        prefix = next(iter(prefixes), "")
        for end in ("aa", "ab", "ac") if used.name == "split" else ("00", "01", "02"):
            reducer.write_file(f"{prefix or ('x' if used.name == 'split' else 'xx')}{end}", data)
        used.scope.add(EffectKind.WRITE, f"writes {prefix or 'x'}*", f"{prefix or 'x'}*")
        return NO_DATA
    archives = used.words.find("-f --file")
    if used.has_option(r"-[a-zA-Z]*[cru][a-zA-Z]*|--create|--append|--update"):
        for path in archives:
            if path != "-":
                reducer.write_file(path, data)
                data = NO_DATA
    else:
        _unpack(used, archives)
    return data


def _pack_objects(used: UsedProgram) -> Data:
    """The same of ar, whose first word says what it does, with a dash or without."""
    order = next(iter(used.run.arguments), "")
    paths = [word for word in used.run.arguments[1:] if not word.startswith("-")]
    data = used.read(*paths)
    if paths and not order.startswith("--") and not _CHANGES_ARCHIVE.isdisjoint(order):
        used.scope.reducer.write_file(paths[0], data)
    return data if "p" in order else NO_DATA


def _unpack(used: UsedProgram, archives: Sequence[str]) -> None:
    reducer = used.scope.reducer
    fetched = find_kind(used.piped | used.read(*archives, *used.operands), DataKind.FETCHED)
    if fetched is not None:
        reducer.fetched_tree = fetched
    for folder in used.words.find("-C --directory" if used.name != "unzip" else "-d"):
        reducer.write_file(f"{folder.rstrip('/')}/", frozenset({fetched}) if fetched else NO_DATA)
