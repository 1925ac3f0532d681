"""git as effects: what it fetches, where it pushes to, and which files it shows, changes and throws away."""

from __future__ import annotations

from collections.abc import Sequence

from quorum.domain.review.effects.places import find_host, find_secret
from quorum.domain.review.effects.program_effects import REMOTE, UsedProgram
from quorum.domain.review.effects.secret_owners import drop_usual_keys
from quorum.domain.review.effects.side_effect import NO_DATA, Data, DataKind, Datum, EffectKind, find_kind

_CHANGES_NOTHING = frozenset(
    {
        "--check",
        "--stat",
        "--numstat",
        "--summary",
        "--abort",
        "--continue",
        "--skip",
        "--quit",
        "--resolved",
        "-r",
    }
)


def take_changes(used: UsedProgram, data: Data) -> None:
    """Take changes that are made to the files here: what comes from elsewhere is code that is run later."""
    if fetched := find_kind(data, DataKind.FETCHED):
        used.scope.reducer.fetched_tree = fetched
        does = f"changes the files here by what it fetches from {find_host(fetched.origin)}"
        used.scope.add(EffectKind.RUN_FETCHED, does, fetched.origin)


_LOOKS_AT_TREE = frozenset(
    {"status", "diff", "add", "rm", "mv", "commit", "stash", "grep", "checkout", "switch", "merge", "rebase"}
)


_SHOW_CHANGES = (["diff"], ["log"], ["show"], ["format-patch"], ["diff-tree"], ["stash"])


def follow_git(used: UsedProgram) -> None:
    """Take what git fetches, and where it pushes to."""
    words = [word for word in used.run.arguments if not word.startswith("-")]
    given = (*used.run.leading, *used.run.arguments)
    headers = [used.find_data(word) for word in given if "extraheader=" in word.lower()]
    for word in words:
        if "://" in word and ("$" in word or headers):
            data = used.find_data(word).union(*headers)
            used.scope.reducer.send(drop_usual_keys(data, word), word)
    match words:
        case ["clone", *rest] | ["-C", _, "clone", *rest]:
            if address := next((each for each in rest if "://" in each or REMOTE.fullmatch(each)), None):
                used.scope.reducer.fetched_tree = Datum(DataKind.FETCHED, address)
        case ["apply" | "am", *files] if not _CHANGES_NOTHING.intersection(used.run.arguments):
            take_changes(used, used.read(*files) | used.piped)
        case ["submodule", "add", *rest]:
            if address := next((each for each in rest if "://" in each or REMOTE.fullmatch(each)), None):
                used.scope.reducer.fetched_tree = Datum(DataKind.FETCHED, address)
        case ["bundle", "create", path, *_]:
            used.scope.reducer.write_file(path, frozenset({Datum(DataKind.FILE, "the repository")}))
        case ["remote", "add" | "set-url", name, *_]:
            used.scope.remotes.add(name)
        case ["push", *rest]:
            target = rest[0] if rest else next(iter(used.scope.remotes), "")
            if target in used.scope.remotes or "://" in target or REMOTE.fullmatch(target):
                used.scope.reducer.send(frozenset({Datum(DataKind.FILE, "the repository")}), target)
        case _:
            _follow_changes(used, words)


def _follow_changes(used: UsedProgram, words: Sequence[str]) -> None:
    for path in used.run.find_values("--output") if words[:1] in _SHOW_CHANGES else ():
        used.scope.reducer.write_file(path, frozenset({Datum(DataKind.FILE, "the repository")}))
    match words:
        case ["mv", *sources, target] if sources:
            for source in sources:
                used.scope.add(EffectKind.DELETE, f"moves {source} away", source)
            used.scope.reducer.write_file(target, NO_DATA)
        case ["rm", *paths] if "--cached" not in used.run.arguments:
            for path in paths:
                used.scope.add(EffectKind.DELETE, f"deletes {path}", path)
        case ["config", _, _, _, *_]:
            for path in used.run.find_values("-f", "--file"):
                used.scope.reducer.write_file(path, NO_DATA)
        case ["restore" | "checkout", *paths] if "--" in used.run.arguments or words[0] == "restore":
            _restore(used, paths)
        case _:
            return


def _restore(used: UsedProgram, paths: Sequence[str]) -> None:
    given = used.run.arguments
    behind = given[given.index("--") + 1 :] if "--" in given else paths
    for path in behind if "--staged" not in given or "--worktree" in given else ():
        used.scope.add(EffectKind.DELETE, f"throws the changes of {path} away", path)
        secret = find_secret(path)
        held = frozenset({Datum(DataKind.SECRET, secret)}) if secret else NO_DATA
        used.scope.reducer.write_file(path, held)


def find_shown_by_git(used: UsedProgram) -> Data:
    """The secrets in files, of any commit, whose contents git shows."""
    command, *words = used.operands or ("",)
    if command in _LOOKS_AT_TREE:
        used.scope.add(EffectKind.READ, "reads the files of the repository", ".")
    match command:
        case "log":
            shows = used.has_option(r"-p|-u|--patch.*|-[SGLUW].*|--cc|-c|--(color-words|word-diff|binary).*")
            words.extend(word for word in used.run.arguments if word.startswith("-L"))
        case "archive":
            shows = not used.has_option(r"-o.*|--output.*")
        case "config":
            shows = True
            words = [*used.run.find_values("-f", "--file")]
        case _:
            shows = command in ("show", "blame", "annotate", "cat-file", "grep", "diff")
    paths = (word.rpartition(":")[2] for word in words) if shows else ()
    return frozenset(Datum(DataKind.SECRET, secret) for path in paths if (secret := find_secret(path)))
