"""The git commands that only read, each with its harmless options and operands, and those that change `.git`.

What git runs besides itself is settled by a repository's own configuration, so these hold only where that is
known to be harmless, and with the settings below laid over it.

Left out on purpose: what names a file to write or a program to run (`--output`, `--ext-diff`, `--textconv`,
`grep -O`), any `-c` or `--git-dir` in front, what reaches the network (`remote show`, `ls-remote`, `fetch`),
what shows settings, where tokens may stand (`config`), and what makes branches, tags or stashes.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from quorum.domain.shell.command_spec import (
    CommandSpec,
    NotReadOnly,
    Operands,
    PathUse,
    Reading,
    Use,
    list_options_with_value,
    parse_use,
)
from quorum.domain.text.pattern import compile_once

_DIFF_OPTIONS = (
    "-p -u -U=? -s -w -b -M=? -C=? -R -a -z -NUM --patch --no-patch --unified=? --raw --stat=? --numstat "
    "--shortstat --dirstat=? --summary --compact-summary --name-only --name-status --minimal --patience "
    "--histogram --diff-algorithm= --color=? --no-color --color-words=? --word-diff=? --word-diff-regex= "
    "--no-renames --full-index --binary --abbrev=? --find-renames=? --find-copies=? --diff-filter= -S= -G= "
    "--pickaxe-all --pickaxe-regex --relative=? --ignore-all-space --ignore-space-change --ignore-space-at-eol "
    "--ignore-blank-lines --function-context -W --inter-hunk-context= --exit-code --quiet --no-ext-diff "
    "--no-textconv --ignore-submodules=? --no-prefix --src-prefix= --dst-prefix= --text --check"
)
_HISTORY_OPTIONS = (
    "-n= -i -E -F -P -g --oneline --graph --decorate=? --no-decorate --decorate-refs= --all --branches=? "
    "--tags=? --remotes=? --max-count= --skip= --since= --after= --until= --before= --author= --committer= "
    "--grep= --all-match --invert-grep --regexp-ignore-case --extended-regexp --fixed-strings --perl-regexp "
    "--merges --no-merges --first-parent --reverse --date= --relative-date --pretty=? --format= "
    "--abbrev-commit --no-abbrev-commit --follow --full-history --simplify-by-decoration --ancestry-path "
    "--topo-order --date-order --author-date-order --left-right --cherry-pick --cherry-mark --left-only "
    "--right-only --boundary --not --parents --children --no-walk=? --walk-reflogs --source --show-pulls "
    "--no-notes -m -c --cc"
)


class GitSpec(Struct, frozen=True):
    """The harmless uses of one git command.

    `contents`: whether it shows what stands in files, always (True) or with one of these options.
    `hashes`: the same for hashes of contents, by which a short content can be found by trying.
    `looks_at_files`: whether it compares the working tree, and so enters submodules.
    `addresses`: options with which it shows where remotes are, by addresses in which tokens may stand.
    `listing`: options of which one must be there for any operand, which would otherwise name something to make.
    """

    arguments: CommandSpec
    contents: bool | frozenset[str] = False
    hashes: bool | frozenset[str] = False
    looks_at_files: bool = False
    addresses: frozenset[str] = frozenset()
    listing: frozenset[str] = frozenset()


class GitUse(Struct, frozen=True, kw_only=True):
    """A git command that only reads, where the repository lets it. `folders` are those it enters with `-C`.

    `given` are the words that may be revisions or paths, and `limits` those behind `--`, to which what it shows
    is limited. `follows` says that it shows what a file was called before as well, and `shows_history` that it
    shows the contents of any number of commits, or chooses among them by their contents: whether such a choice
    shows something tells what stands in a file.

    `listing` are the words of a git command that lists all files of commits of which it shows something: those
    that the commits change. `shows_trees` says that it may be all that they hold.
    """

    use: Use
    folders: tuple[str, ...]
    shows_contents: bool
    looks_at_files: bool
    shows_hashes: bool = False
    shows_addresses: bool = False
    given: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    follows: bool = False
    shows_history: bool = False
    name: str = ""
    listing: tuple[str, ...] = ()
    shows_trees: bool = False


_REVISIONS = Operands.REVISIONS
_SHOWING = frozenset(
    {"-p", "-u", "--patch", "-U", "--unified", "-c", "--cc", "-m", "-W", "--function-context"}
) | {
    "--color-words",
    "--word-diff",
    "--word-diff-regex",
    "--binary",
    "--check",
}
_CHOOSING = frozenset({"-S", "-G", "--pickaxe-all", "--pickaxe-regex"})
# With these a commit counts towards a limit only if one of its files is chosen.
_UNCOUNTED = _CHOOSING | {"--diff-filter", "--follow"}

GIT_COMMANDS: Mapping[str, GitSpec] = {
    "blame": GitSpec(
        CommandSpec(
            options="-L= -w -e -s -l -t -f -n -M=? -C=? --show-email --date= --abbrev=?", operands=_REVISIONS
        ),
        contents=True,
    ),
    "branch": GitSpec(
        CommandSpec(
            options=(
                "-a -r -v -i --list --all --remotes --verbose --show-current --sort= --format= --column=? "
                "--no-column --color=? --no-color --abbrev=? --contains=? --no-contains=? --merged=? "
                "--no-merged=? --points-at="
            ),
            operands=Operands.TEXTS,
        ),
        listing=frozenset({"--list", "--contains", "--no-contains", "--merged", "--no-merged"}),
    ),
    "describe": GitSpec(
        CommandSpec(
            options="--all --tags --long --always --abbrev=? --exact-match --match= --exclude= --contains",
            operands=_REVISIONS,
        )
    ),
    "diff": GitSpec(
        CommandSpec(options=f"{_DIFF_OPTIONS} --cached --staged --merge-base", operands=_REVISIONS),
        contents=True,
        looks_at_files=True,
    ),
    "grep": GitSpec(
        CommandSpec(
            options=(
                "-n -i -v -w -l -L -c -o -q -h -H -E -F -P -G -I -a -p -W -NUM -e= -A= -B= -C= -m= --cached "
                "--line-number --ignore-case --invert-match --word-regexp --files-with-matches "
                "--files-without-match --name-only --count --only-matching --extended-regexp --fixed-strings "
                "--perl-regexp --basic-regexp --column --heading --break --color=? --no-color --context= "
                "--after-context= --before-context= --max-depth= --max-count= --full-name --and --or --not "
                "--all-match --text --show-function"
            ),
            operands=Operands.TEXT_THEN_REVISIONS,
            no_text=frozenset({"-e"}),
        ),
        contents=True,
    ),
    "log": GitSpec(
        CommandSpec(options=f"{_HISTORY_OPTIONS} {_DIFF_OPTIONS}", operands=_REVISIONS),
        contents=_SHOWING | _CHOOSING,
        hashes=frozenset({"--raw"}),
    ),
    "ls-files": GitSpec(
        CommandSpec(
            options=(
                "-c -d -o -i -s -u -z -t -v --cached --deleted --others --ignored --stage --unmerged "
                "--exclude-standard --directory --full-name --error-unmatch --abbrev=?"
            ),
            operands=_REVISIONS,
        ),
        hashes=frozenset({"-s", "--stage", "-u", "--unmerged"}),
    ),
    "ls-tree": GitSpec(
        CommandSpec(options="-d -r -t -l -z --name-only --name-status --long --full-name", operands=_REVISIONS),
        hashes=True,
    ),
    "merge-base": GitSpec(
        CommandSpec(options="-a --all --octopus --independent --is-ancestor --fork-point", operands=_REVISIONS)
    ),
    "reflog": GitSpec(CommandSpec(options="-n= -NUM --oneline --date= --no-color", operands=Operands.NONE)),
    "remote": GitSpec(
        CommandSpec(options="-v --verbose", operands=Operands.NONE), addresses=frozenset({"-v", "--verbose"})
    ),
    "rev-list": GitSpec(CommandSpec(options=f"{_HISTORY_OPTIONS} -NUM --count", operands=_REVISIONS)),
    "rev-parse": GitSpec(
        CommandSpec(
            options=(
                "-q --verify --quiet --short=? --abbrev-ref=? --symbolic-full-name --symbolic --all --branches "
                "--tags --remotes --show-toplevel --show-prefix --show-cdup --git-dir --absolute-git-dir "
                "--git-common-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository "
                "--is-shallow-repository"
            ),
            operands=_REVISIONS,
        )
    ),
    "shortlog": GitSpec(
        CommandSpec(
            options="-s -n -e -c --summary --numbered --email --no-merges --since= --all", operands=_REVISIONS
        )
    ),
    "show": GitSpec(
        CommandSpec(options=f"{_HISTORY_OPTIONS} {_DIFF_OPTIONS}", operands=_REVISIONS), contents=True
    ),
    "status": GitSpec(
        CommandSpec(
            options=(
                "-s -b -z -u=? --short --branch --show-stash --porcelain=? --long --untracked-files=? "
                "--ignored=? --ignore-submodules=? --ahead-behind --no-ahead-behind --renames --no-renames "
                "--column=? --no-column"
            ),
            operands=_REVISIONS,
        ),
        looks_at_files=True,
    ),
    "tag": GitSpec(
        CommandSpec(
            options="-l -n=? --list --sort= --format= --contains=? --merged=?", operands=Operands.TEXTS
        ),
        listing=frozenset({"-l", "--list", "--contains", "--merged"}),
    ),
}
_ALONE = frozenset({("--version",), ("version",), ("stash", "list"), ("worktree", "list"), ("reflog", "show")})
_NO_PAGER = frozenset({"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"})
_GLOB = frozenset("*?[\\")
_FEW = r"-n?[1-9]"
_COUNT = r"-[0-9]+|-[A-Za-z]*n[0-9]*|--max.*"
_LIMITING = frozenset({"-n", "-NUM"})
# With these `git show` walks through commits that are not named one by one.
_MANY = frozenset({"--all", "--branches", "--tags", "--remotes", "--walk-reflogs", "--not"})
# Git takes what ends so for the hash behind the g alone, whatever stands before it.
_DESCRIBED = r"(?s).*-g[0-9A-Fa-f]{4,64}(?:[~^].*)?"
_RANGE = r"\.\.|^\^|\^-"
_MOST_SHOWN = 9
_NAMES_ALONE = ("--name-only", "-z", "--no-renames")
# Options that choose no commits, and say only how something is shown.
_DRAWING_TEXT = (
    f"{_DIFF_OPTIONS} -m -c --cc --oneline --graph --decorate --no-decorate --decorate-refs --pretty --format "
    "--abbrev-commit --no-abbrev-commit --date --relative-date --source --no-notes"
)
_DRAWING = frozenset(option.partition("=")[0] for option in _DRAWING_TEXT.split()) - {"-NUM"}
_COUNTING = frozenset({"-n", "-NUM", "--max-count", "--skip"})
# By a line of each file in this format its hash is shown.
_STATUS_WITH_HASHES = frozenset({"--porcelain=v2", "--porcelain=2"})
# In a format these start the program that checks signatures, with all that the person's settings let it do.
_SIGNATURE = r"%[-+ ]?G|%\(\*?signature"

SORT_KEY = (
    r"-?\*?(?:(?:version:|v:)?refname(?::short|:(?:l|r)?strip=-?\d+)?|(?:creator|tagger|committer|author)"
    r"(?:date(?::[a-z0-9-]+)?|name|email)?|object(?:name|type|size)|subject|contents|upstream|push|HEAD|worktreepath|numparent)"
)
"""What refs may be sorted by: nothing that has to be computed by another program, as signatures are."""

# Laid over the settings of a repository, in the environment of every command that only reads: no hook and no
# monitor is started, no signature checked, no submodule entered, nothing paged, and the index left as it is.
# It is read in one go, as the gate reads it, and a list of untracked files in it is not believed.
# Nor are missing objects fetched, by a program that the repository names; older gits heed only the protocol.
_SETTINGS = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.untrackedCache": "false",
    "diff.autoRefreshIndex": "false",
    "diff.submodule": "short",
    "index.threads": "1",
    "log.follow": "false",
    "log.showSignature": "false",
    "status.submoduleSummary": "false",
    "submodule.recurse": "false",
}
GIT_ENVIRONMENT: Mapping[str, str] = {
    "GIT_CONFIG_COUNT": str(len(_SETTINGS)),
    **{f"GIT_CONFIG_KEY_{place}": key for place, key in enumerate(_SETTINGS)},
    **{f"GIT_CONFIG_VALUE_{place}": value for place, value in enumerate(_SETTINGS.values())},
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}


def parse_git_use(words: Sequence[str]) -> GitUse:
    """What the words after `git` mean. Raises NotReadOnly where they are not known only to read."""
    folders, rest = _skip_global_options(words)
    if tuple(rest) in _ALONE:
        return GitUse(use=Use(frozenset(), (), ()), folders=folders, shows_contents=False, looks_at_files=False)
    if not rest:
        raise NotReadOnly("git is known only with one of its commands")
    name = rest[0]
    spec = GIT_COMMANDS.get(name)
    if spec is None:
        raise NotReadOnly(f"git {name} is not known only to read", name if name.startswith("-") else None)
    use = parse_use(spec.arguments, f"git {name}", rest[1:])
    if any(compile_once(_SIGNATURE).search(word) for word in rest[1:]):
        raise NotReadOnly(f"git {name} may check signatures, for which it runs another program")
    if unknown := next(
        (key for key in _sort_keys(rest[1:]) if not compile_once(SORT_KEY).fullmatch(key)), None
    ):
        raise NotReadOnly(f"git {name} would sort by {unknown}, for which it may run another program")
    if spec.listing and use.operands and not spec.listing & use.options:
        raise NotReadOnly(f"git {name} {use.operands[0]} would make something of that name")
    shows, hashes = _applies(spec.contents, use), _applies(spec.hashes, use)
    if name == "status":
        hashes = not _STATUS_WITH_HASHES.isdisjoint(rest)
    paths = tuple(_list_path_uses(use, name, names_contents=shows or hashes))
    return GitUse(
        use=Use(use.options, use.operands, paths),
        folders=folders,
        shows_contents=shows,
        looks_at_files=spec.looks_at_files,
        shows_hashes=hashes,
        shows_addresses=bool(spec.addresses & use.options),
        given=tuple(path.path for path in use.paths),
        limits=_list_limits(spec, use),
        follows="--follow" in use.options,
        shows_history=shows and _reaches_history(name, use, rest[1:]),
        listing=_build_listing(name, use, rest[1:]) if shows or hashes else (),
        name=name,
        shows_trees=name in ("grep", "ls-tree"),
    )


def _build_listing(name: str, use: Use, words: Sequence[str]) -> tuple[str, ...]:
    start: tuple[str, ...]
    match name:
        case "show" if not _COUNTING & use.options:
            start = ("log", "--no-walk", "--format=", "-m")
        case "log" | "show":
            start = ("log", "--format=", "-m")
        case "diff":
            start = ("diff",)
        case "status":
            return ("diff", "--cached", *_NAMES_ALONE)
        case _:
            return ()
    dropped = _DRAWING | (_COUNTING if _UNCOUNTED & use.options else frozenset())
    # A graph orders what a limit counts.
    order = ("--topo-order", "--parents") if "--graph" in use.options else ()
    chosen = _drop_options(GIT_COMMANDS[name].arguments, words, dropped)
    return (*start, *_NAMES_ALONE, *order, *chosen)


def _drop_options(spec: CommandSpec, words: Sequence[str], dropped: frozenset[str]) -> Iterator[str]:
    """The words without these options and their values. What stands behind `--` stays."""
    with_value = list_options_with_value(spec)
    rest = iter(words)
    for word in rest:
        if word == "--":
            yield from (word, *rest)
            return
        if not word.startswith("-"):
            yield word
            continue
        option = word.partition("=")[0] if word.startswith("--") else word[:2]
        if re.fullmatch(r"-[0-9]+", word):
            option = "-NUM"
        value = tuple(itertools.islice(rest, 1)) if word in with_value else ()
        if option not in dropped:
            yield from (word, *value)


def _applies(options: bool | frozenset[str], use: Use) -> bool:
    return options if isinstance(options, bool) else bool(options & use.options)


def _reaches_history(name: str, use: Use, words: Sequence[str]) -> bool:
    if name == "grep":
        # What is no path is a commit, in which other files may stand than in the last one.
        return bool(use.paths)
    # With a limit it walks through commits as well.
    if name == "show" and not _COUNTING & use.options:
        names_range = any(map(compile_once(_RANGE).search, use.operands)) or len(use.operands) > _MOST_SHOWN
        return names_range or bool(_MANY & use.options)
    # A limit counts the commits that were chosen, and not those among which it was chosen; the last one holds.
    is_limited = bool(_LIMITING & use.options) and all(
        map(compile_once(_FEW).fullmatch, filter(compile_once(_COUNT).fullmatch, words))
    )
    return name in ("log", "show") and (bool(_UNCOUNTED & use.options) or not is_limited)


def _list_limits(spec: GitSpec, use: Use) -> tuple[str, ...]:
    takes_text = spec.arguments.operands is Operands.TEXT_THEN_REVISIONS
    if takes_text and len(use.operands) == len(use.behind_dashes) and not spec.arguments.no_text & use.options:
        # The first of them is the text.
        return ()
    return use.behind_dashes


def _sort_keys(words: Sequence[str]) -> Iterator[str]:
    """Whatever may be meant as a key to sort by."""
    for place, word in enumerate(words):
        option, equals, value = word.partition("=")
        if option == "--sort":
            yield value if equals else "".join(words[place + 1 : place + 2])


def _skip_global_options(words: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    rest = list(words)
    folders: list[str] = []
    while rest:
        if rest[0] in _NO_PAGER:
            rest.pop(0)
        elif rest[0] == "-C" and len(rest) > 1:
            folders.append(rest[1])
            rest = rest[2:]
        else:
            break
    return tuple(folders), rest


def _list_path_uses(use: Use, name: str, *, names_contents: bool) -> list[PathUse]:
    paths: list[PathUse] = []
    for given in use.paths:
        revision, path = split_revision(given.path)
        if path is not None and not revision:
            raise NotReadOnly(f"git {name} {given.path} is a pattern of git's own, which may name any file")
        if names_contents and _GLOB & set(given.path):
            raise NotReadOnly(f"git {name} {given.path} is a pattern, which may name any file")
        if names_contents and path is not None and compile_once(_DESCRIBED).fullmatch(path):
            raise NotReadOnly(f"git {name} {given.path} may name any file by its hash")
        if "\n" in given.path:
            raise NotReadOnly(f"git {name} is not known with a revision or path of several lines")
        paths.append(PathUse(given.path if path is None else path, Reading.NAMES))
    return paths


def split_revision(word: str) -> tuple[str, str | None]:
    """A revision, and the path in it; None where it names none. A colon in braces is part of the revision."""
    depth = 0
    for place, sign in enumerate(word):
        match sign:
            case "{":
                depth += 1
            case "}" if depth:
                depth -= 1
            case ":" if not depth:
                return word[:place], word[place + 1 :]
    return word, None


_CHANGING = (
    r"(?:^|[\s;&|({`])(?:\S{0,200}/)?git(?:[ \t]+(?:-[cC][ \t]+\S+|-\S+)){0,20}[ \t]+"
    r"(?:add|am|apply|branch|bisect|checkout|cherry-pick|clean|commit|fetch|merge|mv|notes|pull|push|rebase|reset"
    r"|restore|revert|rm|stash|switch|tag|update-index|update-ref|gc)(?![\w-])"
)


def changes_repository(text: str) -> bool:
    """Whether a text seems to run a git command that writes to `.git`. It proves nothing: it decides what an
    approval of the text is asked to open, and only a person gives one."""
    return compile_once(_CHANGING).search(text) is not None
