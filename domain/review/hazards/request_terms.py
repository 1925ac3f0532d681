"""What the person would have to ask for, in their own words, for an objection to a command to be taken back.

A request covers what a command selects by itself only if that can be read off the command's words.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from itertools import dropwhile, pairwise

from quorum.domain.replacing import replace
from quorum.domain.review.hazards.database import CLIENTS
from quorum.domain.review.hazards.invocation import Invocation
from quorum.domain.review.hazards.places import (
    belongs_to_system,
    governs_agents,
    holds_credentials,
    normalize,
    runs_on_its_own,
)
from quorum.domain.review.hazards.started_programs import skip_leading_options
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.review.plain_request import NO_BYTES, Effect, RequestTerms, is_open
from quorum.domain.review.request_wording import list_stages
from quorum.domain.shell.command_line import may_move_files
from quorum.domain.shell.script import Script, ScriptCommand

_TESTS = frozenset(
    {
        *("-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-type", "-maxdepth", "-mindepth"),
        *("-mtime", "-mmin", "-atime", "-amin", "-ctime", "-cmin", "-size"),
    }
)
"""Tests of find that take one value, and only make the selection smaller."""
_FLAGS = frozenset(
    {"-empty", "-depth", "-mount", "-xdev", "-a", "-and", "(", ")", "-print", "-print0", "-daystart"}
)
_NO_SIZES = frozenset(f"-size 0{unit}" for unit in ("", *"bckMG"))
_NAME_TESTS = frozenset({"-name", "-path", "-iname", "-ipath"})
_NEGATIONS = frozenset({"!", "-not"})
_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_PATTERN = re.compile(r"\*\.\w+")
_INVERTED = frozenset({"--inverse", "--invert-match", "--complement"})
_LEAVING_OUT = ("--exclude", "--except", "--keep", "--ignore", "--skip")


def leaves_out(run: Invocation) -> bool:
    """Whether a word of it names what is *not* to be touched: all else is, which no name tells."""
    short = {"git": "e", "pkill": "v", "pgrep": "v", "rsync": "C"}.get(run.program, "")
    return any(
        word in _INVERTED
        or word.startswith(_LEAVING_OUT)
        or "!=" in word
        or word.startswith((":!", ":^", ":(", "!", "^"))
        or (short and word[:1] == "-" != word[1:2] and short in word)
        for word in run.arguments
    )


def list_limits(commands: Sequence[ScriptCommand]) -> frozenset[str]:
    """The ages and sizes that a single find limits its selection to."""
    if [command.words[:1] for command in commands].count(("find",)) != 1:
        return frozenset()
    words = next(command.words for command in commands if command.words[:1] == ("find",))
    found = {f"{test} {value}" for test, value in pairwise(words) if test in ("-mtime", "-mmin", "-size")}
    if "-empty" in words or not found.isdisjoint(_NO_SIZES):
        found.add(NO_BYTES)
    return frozenset(found)


def is_selected_by_words(commands: Sequence[ScriptCommand]) -> bool:
    """Whether the words of a find, or the patterns of an ls, say which things another program is run on, and no
    other command has a say in it."""
    return all(_selects_by_words(command) for command in commands)


def _selects_by_words(command: ScriptCommand) -> bool:
    words = command.words
    match words[:1]:
        case ("xargs",):  # it reads what a pipe brings, and no file
            reads_file = any(word.startswith(("-a", "--arg-f")) for word in words)
            return bool(command.reads) and not (reads_file or command.redirects or command.text)
        case ("tr",):  # it ends names so that none is read as two
            return words[1:] == ("\\n", "\\0")
        case ("find",):
            return is_plain_find(words[1:])
        case ("ls",):
            return (
                all(word in ("-1", "-d") or _PATTERN.fullmatch(word) for word in words[1:]) and len(words) > 1
            )
        case _:
            return False


def drop_left_out(words: Sequence[str]) -> tuple[str, ...]:
    """The words of a find without its negated tests of names, which only make the selection smaller."""
    kept: list[str] = []
    place = 0
    while place < len(words):
        if words[place] in _NEGATIONS and words[place + 1 : place + 2] in (("-path",), ("-name",)):
            place += 3
        else:
            kept.append(words[place])
            place += 1
    return tuple(kept)


def _take_left_out(run: Invocation, script: Script) -> tuple[Invocation, Script, frozenset[str]]:
    """A selection by names without the names that it leaves out, and these."""
    finds = [command.words for command in script.commands if command.words[:1] == ("find",)]
    if len(finds) != 1 or not (run.program == "find" or run.in_loop):
        return run, script, frozenset()
    kept = drop_left_out(finds[0])
    if kept == finds[0] or _NAME_TESTS.isdisjoint(kept):
        return run, script, frozenset()
    words = zip(finds[0], finds[0][1:], finds[0][2:], strict=False)
    left_out = frozenset(name for test, kind, name in words if test in _NEGATIONS and kind in _NAME_TESTS)
    commands = tuple(
        replace(command, words=kept) if command.words == finds[0] else command for command in script.commands
    )
    if run.program == "find":
        run = replace(run, arguments=drop_left_out(run.arguments))
    return run, replace(script, commands=commands), left_out


def is_plain_find(words: Sequence[str]) -> bool:
    """Whether a find selects what all of its tests fit, and acts on nothing, nor lists it, before that."""
    place = 0
    while place < len(words) and not words[place].startswith(("-", "(", "!", ",")):
        place += 1
    if place > 1 and "." in words[:place]:
        return False
    has_listed = has_acted = False
    while place < len(words):
        word = words[place]
        if word in ("-print", "-print0"):
            has_listed, place = True, place + 1
        elif has_acted:
            return False
        elif word == "-delete":
            has_acted, place = True, place + 1
        elif word in _RUNS:
            has_acted = True
            while place < len(words) and words[place] not in (";", "+"):
                place += 1
            place += 1
        elif has_listed:
            return False
        elif word in _TESTS:
            place += 2
        elif word in _FLAGS:
            place += 1
        else:
            return False
    return True


# What changes where the commands behind it run, or what their words mean. Files are moved by more programs.
_MOVES = frozenset(
    {
        *("cd", "pushd", "popd", "eval", "exec", "alias", "source", ".", "trap", "export", "set", "shopt"),
        *("mount", "z", "j"),
    }
)
_KEYWORDS = frozenset({"command", "builtin", "time", "-p"})
_FEEDERS = frozenset({"xargs", "find"})
_FILE_EFFECTS = frozenset({Effect.DELETE, Effect.EMPTY, Effect.DISCARD, Effect.CHANGE_RIGHTS})
_PLACES = ("/", "~", "..", "$")
_KINDS_OF_MANY = "files|folders|directories|all|every|everything|items|each"
_KINDS = "files?|folders?|director(?:y|ies)|all|every|everything|items?"
_NO_NAME = re.compile(r"--|/dev/null")
_NO_NAME_OF_FEEDERS = re.compile(r"\{\}|;|\+|--|/dev/null|\\.*")
_NO_NAME_OF_GIT = re.compile(r"--|HEAD([~^]\d*)*|origin")
_VALUES = {
    "find": _TESTS - {"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename"} | {"-printf", "-perm"},
    "xargs": frozenset({"-n", "-P", "-L", "-I", "-d", "-s", "-E"}),
    "truncate": frozenset({"-s", "--size"}),
    "shred": frozenset({"-n", "--iterations", "-s", "--size"}),
    "killall": frozenset({"-s", "--signal"}),
    "redis-cli": frozenset({"-p", "-n"}),
    **dict.fromkeys(("docker", "podman", "docker-compose", "podman-compose"), frozenset({"-t", "--timeout"})),
    **dict.fromkeys(("kubectl", "oc"), frozenset({"--grace-period", "--timeout"})),
}
"""Options whose values name no target, by program: any other number or letter may be the name of one."""
_COMMAND_WORDS = {
    "git": frozenset(
        {
            *("rm", "reset", "clean", "checkout", "switch", "restore", "worktree", "remove", "branch", "tag"),
            *("filter-repo", "stash", "drop", "clear", "push"),
        }
    ),
    **dict.fromkeys(
        ("docker", "podman", "nerdctl"),
        frozenset(
            {
                *("system", "image", "container", "volume", "network", "builder", "prune", "rm", "rmi", "kill"),
                *("compose", "down"),
            }
        ),
    ),
    **dict.fromkeys(("docker-compose", "podman-compose"), frozenset({"down"})),
    **dict.fromkeys(("kubectl", "oc"), frozenset({"delete"})),
    "helm": frozenset({"uninstall", "delete"}),
    "systemctl": frozenset({"enable", "daemon-reload"}),
    "redis-cli": frozenset({"flushall", "flushdb", "FLUSHALL", "FLUSHDB"}),
    "twine": frozenset({"upload", "dist/*"}),
    **dict.fromkeys(("npm", "pnpm", "yarn", "cargo", "gem", "poetry", "uv"), frozenset({"publish"})),
    "gh": frozenset({"release", "create", "pr", "merge", "dist/*"}),
}
_TAKES_RIGHTS = re.compile(r"-[rwxXst]+")
"""A mode of chmod that is written as an option; else its first operand is the mode."""
_GIVEN_BY_COMMAND = frozenset({"dist/*"})
_ELSEWHERE = frozenset(
    {
        "-C",
        "--git-dir",
        "--work-tree",
        "--mirror",
        "--prune",
        "--tags",
        "--no-preserve-root",
        "-A",
        "--pathspec-from-file",
    }
)
_DATABASE_PROGRAMS = CLIENTS | {"dropdb", "redis-cli"}
_OBJECTS_OF_CONTAINERS = frozenset({"container", "image", "volume", "network", "context", "secret", "config"})
_CASELESS = frozenset({"-iname", "-ipath", "-iwholename", "-iregex", "-ilname"})
_SELECTING = re.compile(r"-[fkl].*|--(filename|kustomize|selector|field-selector)(=.*)?")
_CLUSTERS = frozenset({"kubectl", "oc"})
_ENGINES = _CLUSTERS | {"helm", "docker", "podman", "nerdctl", "docker-compose", "podman-compose"}
_ENGINE = re.compile(
    r"-[nHcs].*|--(context|host|connection|url|namespace|kubeconfig|cluster|server|user|remote|kube-\w+)(=.*)?"
)
_SERVER = re.compile(
    r"-[hHSups].*|--(host|server|uri|url|maintenance-db|dbname|port|socket|defaults|login-path).*|-d.*=.*"
    r"|\w+=.*|.*(://|\$).*"
)
_VARIABLE = re.compile(r"\$[A-Za-z_]\w*(?:[:/]\$?\w*)*/?")
_EXPANDED = re.compile(r"\$[\w({'\"]|`|[<>]\(|\{[^}]")
_SHARED_BRANCH = re.compile(
    r"(?:.*[:/+])?(main|master|trunk|develop|development|stable|production|prod|staging|release.*|v?\d.*|HEAD|gh-pages)"
)


def complete_terms(
    terms: RequestTerms, run: Invocation, script: Script, paths: PathPolicy
) -> RequestTerms | None:
    """The terms with the names of all targets. None where no request takes the objection back: the script is
    not what it seems, or the targets are protected, the system's, or somebody else's."""
    if not _FEEDERS.issuperset(run.wrappers) or not is_straight(script):
        return None
    run, script, left_out = _take_left_out(run, script)
    if _ELSEWHERE.intersection(run.arguments) or any(
        word.startswith("--all") or (word[:1] == "-" and "/" in word) for word in run.arguments
    ):
        return None
    if leaves_out(run) or _reaches_beside(run) or _names_like_option(run):
        return None
    terms = _name_kind(_tighten_terms(terms, run), run)
    terms = replace(terms, stages=list_stages(" ".join((*run.leading, *run.arguments))))
    is_exact = terms.is_exact and not _is_far(run)
    if terms.names:
        return replace(terms, is_exact=is_exact)
    names = frozenset(_list_names(terms, run, script))
    if terms.effect is Effect.EMPTY:
        names |= {each.target for each in run.redirects}
    if terms.nouns and not terms.needs_noun:
        names -= {"."}
    if _changes_shared_branch(terms, run, names):
        return None
    is_of_files = terms.effect in _FILE_EFFECTS and not terms.nouns
    if is_of_files and not all(_may_be_asked_for(name, paths) for name in names):
        return None
    kinds = _KINDS
    if not _selects_by_names(run, script):  # the names may be those of what it leaves out
        names = frozenset(name for name in names if name.startswith(_PLACES))
        kinds, is_exact = _KINDS_OF_MANY, False
    is_fed = run.in_loop or run.program == "find"
    kinds = kinds if is_of_files else ""
    limits = list_limits(script.commands)
    are_files = is_of_files and run.program not in _COMMAND_WORDS and run.program not in _DATABASE_PROGRAMS
    return replace(
        terms,
        names=names,
        kinds=kinds,
        limits=limits,
        left_out=left_out,
        is_fed=is_fed,
        is_exact=is_exact,
        are_files=are_files,
    )


def _names_like_option(run: Invocation) -> bool:
    """Whether a target behind `--` is written as an option: it is no operand, so no request would name it."""
    words = run.arguments
    return "--" in words and any(word.startswith("-") for word in words[words.index("--") + 1 :])


def _reaches_beside(run: Invocation) -> bool:
    """Whether it acts on something beside what its names say: on a folder above, or on what it names itself
    together with what is selected for it."""
    return any(".." in word.split("/")[1:] for word in run.operands) or (
        run.in_loop
        and not all(map(_NO_NAME_OF_FEEDERS.fullmatch, _list_operands((run.program, *run.arguments))))
    )


def _list_names(terms: RequestTerms, run: Invocation, script: Script) -> list[str]:
    """The words that may name what a program acts on. What selects the targets for it may stand in any command
    before."""
    if terms.effect is Effect.LOAD:
        return []
    known = _COMMAND_WORDS.get(run.program, frozenset())
    if run.in_loop:
        known |= {run.program, *_FEEDERS}
        words = [word for command in script.commands for word in _list_operands(command.words)]
    else:
        words = _list_operands((run.program, *run.arguments))
        if run.program in ("chown", "chgrp"):  # an owner and a group are two names in one word
            words = [
                name
                for word in words
                for name in (word.split(":") if "/" not in word else (word,))
                if name and not name.isdigit()
            ]
        start = next((place for place, word in enumerate(words) if word in known), len(words))
        behind = [*dropwhile(known.__contains__, words[start:])]  # there such a word is a target
        known = _GIVEN_BY_COMMAND
        # What kubectl names first is the kind.
        words = words[:start] + behind[run.program in _CLUSTERS and bool(terms.kind) :]
    no_name = _NO_NAME_OF_GIT if run.program == "git" else _NO_NAME
    no_name = _NO_NAME_OF_FEEDERS if run.in_loop or run.program == "find" else no_name
    names = (word for word in words if word not in known and not no_name.fullmatch(word))
    return ["." if name == "./" else name for name in names]


def _list_operands(words: Sequence[str]) -> list[str]:
    """The words behind a program that are neither options nor values which name nothing."""
    program = words[0].rpartition("/")[2] if words else ""
    values = _VALUES.get(program, frozenset())
    found = [word for before, word in pairwise(words) if word[:1] != "-" and before not in values]
    gives_mode = not any(word.startswith("--ref") or _TAKES_RIGHTS.fullmatch(word) for word in words[1:])
    return found[1:] if program == "chmod" and gives_mode else found


def _selects_by_names(run: Invocation, script: Script) -> bool:
    """Whether all that it acts on fits its names: those that it is given, or those that a plain find tests."""
    if run.in_loop:
        return is_selected_by_words(script.commands)
    return run.program != "find" or is_plain_find(run.arguments)


def _tighten_terms(terms: RequestTerms, run: Invocation) -> RequestTerms:
    """The terms, stricter where an option or an operand reaches further than the table tells."""
    given = set(run.arguments)
    match run.program:
        case "git" if "clean" in given and any(
            re.fullmatch(r"-[a-zA-Z]*[xX][a-zA-Z]*", word) for word in given
        ):
            return replace(terms, nouns="ignored", needs_noun=True)
        case "git" if "reset" in given and any(re.match(r"HEAD[~^@]", word) for word in given):
            return replace(terms, nouns="commits?|committed", needs_noun=True, is_exact=False)
        case "docker" | "podman" | "nerdctl" | "docker-compose" | "podman-compose":
            if given & {"volume", "--volumes"} or ("down" in given and "-v" in given):
                return replace(terms, nouns="volumes?", needs_noun=True)
            if "prune" in given:
                kind = next((kind for kind in ("image", "container") if kind in given), "")
                return (
                    replace(terms, nouns=f"{kind}s?", needs_noun=True)
                    if kind
                    else replace(terms, is_exact=False)
                )
            return terms
        case "pkill" | "killall":
            return replace(
                terms, is_exact=not given & {"-f", "--full", "-r", "--regexp", "-I", "--ignore-case"}
            )
        case _:
            return terms


def _name_kind(terms: RequestTerms, run: Invocation) -> RequestTerms:
    """The terms with the kind of what the program's command names, which a name does not tell: a branch, a tag
    and a container may have the name of a folder."""
    command = next(iter(skip_leading_options(run)), "")
    operands = _list_objects(run)
    match run.program:
        case program if program in _CLUSTERS and any(map(_SELECTING.fullmatch, run.arguments)):
            return replace(terms, is_exact=False)
        case "git" if command in ("branch", "tag", "worktree"):
            kind = command
        case "docker" | "podman" | "nerdctl" if command in ("rm", "kill"):
            kind = "container"
        case "docker" | "podman" | "nerdctl" if command == "rmi":
            kind = "image"
        case "docker" | "podman" | "nerdctl" if command in _OBJECTS_OF_CONTAINERS and operands[1:]:
            kind = command
        case program if (
            program in _CLUSTERS and command == "delete" and operands[1:] and "/" not in operands[0]
        ):
            kind = operands[0].casefold().partition(".")[0]
        case "docker" | "podman" | "nerdctl" if command == "compose" and operands[:1] in (["rm"], ["kill"]):
            kind = "service"
        case "docker-compose" | "podman-compose" if command in ("rm", "kill"):
            kind = "service"
        case "find" if any(word in _CASELESS for word in run.arguments):
            return replace(terms, is_exact=False)
        case "helm":
            return replace(terms, kind="helm|releases?|charts?|deployments?|app", needs_kind=True)
        case _:
            return terms
    kind = re.escape(kind.removesuffix("s"))
    if kind == "branch":
        return replace(terms, kind="branch|branches", needs_kind=True)
    return replace(terms, kind=f"{kind}s?", needs_kind=True)


def _changes_shared_branch(terms: RequestTerms, run: Invocation, names: frozenset[str]) -> bool:
    pushes = terms.effect is Effect.OVERWRITE or (run.program == "git" and "push" in run.arguments)
    return pushes and (not names or any(map(_SHARED_BRANCH.fullmatch, names)))


def _is_far(run: Invocation) -> bool:
    """Whether it may be about another machine, of which a request that only names the target says nothing."""
    options = _SERVER if run.program in _DATABASE_PROGRAMS else _ENGINE if run.program in _ENGINES else None
    return options is not None and any(map(options.fullmatch, run.arguments))


def _list_objects(run: Invocation) -> list[str]:
    """The operands behind the first command of a program."""
    return [word for word in skip_leading_options(run)[1:] if not word.startswith("-")]


def is_straight(script: Script) -> bool:
    """Whether its words are what they seem: no folder, name or meaning changes before them."""
    return script.problem is None and not any(
        command.assignments or command.function or command.in_loop or _is_changing(command)
        for command in script.commands
    )


def _is_changing(command: ScriptCommand) -> bool:
    run = [*dropwhile(_KEYWORDS.__contains__, command.words)]
    program = run[0].rpartition("/")[2] if run else ""
    words = () if program in ("echo", "printf") else command.words
    return (
        program in _MOVES
        or may_move_files(" ".join(words))
        or (
            command.words[:2] == ("git", "stash")
            and command.words[2:3] not in (("drop",), ("clear",), ("list",), ("show",))
        )
        or any(_EXPANDED.search(word) and not _VARIABLE.fullmatch(word) for word in words)
        or any(re.search(r"[$`]", redirect.target) for redirect in command.redirects)
    )


def _may_be_asked_for(name: str, paths: PathPolicy) -> bool:
    """Whether a file may be the target of a plain request. Outside of the workspace it must be one named thing
    that is not the system's, nor a home folder."""
    root = paths.roots[0] if paths.roots else "/"
    path = posixpath.normpath(posixpath.join(root, name))
    if _VARIABLE.fullmatch(name):
        return True
    if paths.is_protected(path) or paths.is_sensitive(path):
        return False
    if holds_credentials(name) or runs_on_its_own(name) or governs_agents(name):
        return False
    if name.startswith("~") or not paths.is_inside(path):
        place = normalize(path if name[:1] != "~" else name).rstrip("/")
        return not is_open(name) and place not in ("", "~", "/home", "/Users") and not belongs_to_system(place)
    return path != root or name in (".", "./")
