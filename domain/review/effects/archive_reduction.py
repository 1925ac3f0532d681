"""Archives and blocks as effects: what goes into them, and what comes out."""

from __future__ import annotations

from collections.abc import Sequence

from quorum.domain.review.effects.program_effects import UsedProgram, drop_kind
from quorum.domain.review.effects.side_effect import NO_DATA, Data, DataKind, EffectKind, find_kind


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
    if used.name in ("zip", "7z", "7za", "rar"):
        named = [path for path in used.operands[:2] if not path.startswith("/") and path not in ("a", "u")]
        for path in named[:1]:
            reducer.write_file(path if "." in path else f"{path}.zip", data)
        return data
    if used.name in ("split", "csplit"):
        prefix = used.words.operands[1] if len(used.words.operands) > 1 and used.name == "split" else ""
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


def _unpack(used: UsedProgram, archives: Sequence[str]) -> None:
    reducer = used.scope.reducer
    for folder in used.words.find("-C --directory") if used.name != "unzip" else ():
        reducer.write_file(f"{folder.rstrip('/')}/", NO_DATA)
    if fetched := find_kind(used.piped | used.read(*archives, *used.operands), DataKind.FETCHED):
        reducer.fetched_tree = fetched
