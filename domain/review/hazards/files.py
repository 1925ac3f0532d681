"""What commands do to files and processes: deletion, writing to the system, reading of credentials.

Deletions that lose nothing are told apart: of what tools generate, what is empty, what is temporary.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise, takewhile

from quorum.domain.replacing import replace
from quorum.domain.review.hazards.invocation import Carried, Invocation
from quorum.domain.review.hazards.places import (
    belongs_to_system,
    holds_credentials,
    is_device,
    is_log,
    is_public_key,
    is_remade,
    is_temporary,
    normalize,
    runs_on_its_own,
)
from quorum.domain.review.hazards.program_table import (
    SPECIAL_BITS,
    WHOLE_FOLDERS,
    has_harmful_uses,
    list_harmful_uses,
)
from quorum.domain.review.hazards.request_terms import drop_left_out, is_plain_find, is_selected_by_words
from quorum.domain.review.hazards.test_databases import uses_only_test_database
from quorum.domain.review.objection import Objection
from quorum.domain.review.plain_request import Effect, RequestTerms
from quorum.domain.shell.command_line import Redirect
from quorum.domain.shell.script import Script
from quorum.domain.text.paths import is_below_any

_UNMISTAKABLE = frozenset(
    {
        *("node_modules", "bower_components", "target", "coverage", "__pycache__", ".venv", "venv"),
        *(".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox", ".eggs", "htmlcov"),
        *(".next", ".nuxt", ".turbo", ".parcel-cache", ".svelte-kit", ".angular", ".gradle", ".dart_tool"),
        ".build",
        *(".nyc_output", ".vite", ".output", ".astro", ".docusaurus", ".expo", ".webpack", ".sass-cache"),
        *("_build", "_site", "elm-stuff", ".stack-work", "dist-newstyle", ".zig-cache", "zig-cache", "zig-out"),
        *("storybook-static", "playwright-report", "test-results", "DerivedData", ".aws-sam", ".jekyll-cache"),
        *(".ipynb_checkpoints", ".nx", ".rpt2_cache", ".cxx", ".externalNativeBuild", ".pnpm-store"),
    }
)
_OF_TOOLS_ALONE = frozenset(
    {*(each for each in _UNMISTAKABLE if each.startswith((".", "__"))), "node_modules", "bower_components"}
)
"""Nobody gives a folder such a name."""
_BUILT_APART = re.compile(r"cmake-build-[\w-]+|bazel-(bin|out|testlogs)")
_FOLDERS = _UNMISTAKABLE | {"out"}
_BUILT = frozenset({"build", "dist"})
"""Often these hold what people write, unless the script itself makes them again."""
_BUILDERS = re.compile(
    r"(mkdir|make|gmake|cmake|meson|ninja|tsc|vite|webpack|rollup|esbuild|parcel|hatch|mvnw?|gradlew?)"
    r"|(npm|pnpm|yarn|bun|npx|poetry|uv|cargo|go|python3?|docker|mkdocs|dotnet|swift|flutter) .*build.*"
)
_FILES = re.compile(
    r"(\*|[\w.+-]+)\.(egg-info|tsbuildinfo|pyc|pyo)|\*\.(o|obj|class)|\*~|(?i:\.ds_store)"
    r"|\.(eslint|stylelint|prettier|phpunit\.result\.|php-cs-fixer\.)?cache|nohup\.out"
    r"|(\*|[\w.+-]+)\.(aux|toc|lof|lot|fls|fdb_latexmk|synctex\.gz|bbl|blg|bcf|run\.xml|nav|snm|vrb)"
)
_PRINTED_BY_TEX = re.compile(r"(\*|[\w.+-]+)\.(?:log|out)")
_EMPTY_SIZES = re.compile(r"0[bckMG]?")
_REVERSIBLE = frozenset({"chmod", "chown", "chgrp"})
_TOP = re.compile(r"tmp/[^/]+/?$")
_NAME = re.compile(r"[\w@.+][\w@.+-]*")
_CACHES = re.compile(
    r"~/(?:Library/Developer/Xcode/DerivedData|Library/Caches/[\w.-]+|\.npm/_cacache|\.gradle/caches"
    r"|\.cache/(?:pip|uv|yarn|pnpm|go-build|bazel|ccache|sccache|mypy|ruff|pre-commit|pypoetry|deno|electron"
    r"|Cypress|ms-playwright|puppeteer|node|turbo|typescript|prisma|composer|gem|nix|black))(?:/[\w.@+-]+)*/?"
)
"""What programs fetch or make again when they miss it."""
_FLAGS = re.compile(r"-[rRfv]+|--(?:recursive|force|verbose)")
_PRINTS_NOTHING = frozenset({"", ":", "true"})
_OVERWRITES = frozenset({">", ">|"})
_MADE_EMPTY = re.compile(
    r"(.*/)?(\.(git|npm)?(keep|ignore)|__init__\.pyi?|py\.typed|\.nojekyll|CACHEDIR\.TAG|.*\.(log|lock|out|tmp))"
)
"""Files that are empty as a rule, or hold what programs print."""
_DELETES_ALL_LINES = re.compile(r"(1,\$)?d")
_NULLS = re.compile(r"-[rtx]*0[0rtx]*|--null")
_CLEANS = re.compile(r"-[dfqxX]+|--quiet")
_SEARCHERS = frozenset({"find", "gfind", "bfs"})
# What may lead a later relative path out of the workspace.
_LEADS_AWAY = frozenset(
    {"pushd", "popd", "chdir", "source", ".", "eval", "ln", "mv", "mount", "alias", "shopt", "sudo"}
)
_STARTERS = frozenset({"command", "builtin", "exec", "time", "!"})


def deletes_only_generated(run: Invocation, script: Script) -> bool:
    """Whether a command deletes nothing but generated folders below the folder that its script begins in.

    The names are relative and stand there in full.
    """
    if run.program in ("rm", "git"):
        words = run.arguments if run.program == "rm" else _find_cleaned(run)
        names = [word for word in words if not _FLAGS.fullmatch(word)]
        is_spared = (
            bool(names)
            and not (run.wrappers or run.in_loop)
            and all(
                is_generated(name)
                or (name.rstrip("/").removeprefix("./") in _BUILT and _builds(script))
                or _is_beside_generated(name, names)
                for name in names
            )
        )
    else:
        is_spared = run.program in _SEARCHERS and "-delete" in run.arguments and _finds_only_generated(run)
    return (is_spared or _is_fed_generated(run, script)) and stays_in_workspace(script)


def _is_fed_generated(run: Invocation, script: Script) -> bool:
    """Whether `xargs` has `rm` delete just what a find lists, whose names cannot be read as two."""
    if run.program != "rm" or run.wrappers != ("xargs",) or not all(map(_FLAGS.fullmatch, run.arguments)):
        return False
    match [command.words for command in script.commands]:
        case [(finder, *words, "-print0"), ("xargs", *rest)] if finder in _SEARCHERS:
            search = Invocation(program=finder, arguments=tuple(words))
            lists_once = {"-print", "-print0"}.isdisjoint(words)
            is_fed = _splits_at_nulls(rest) and is_selected_by_words(script.commands[1:])
            return lists_once and is_fed and _finds_only_generated(search)
        case _:
            return False


def _splits_at_nulls(words: Sequence[str]) -> bool:
    """Whether `xargs` reads names that end with null bytes; the words of what it runs stand behind its own."""
    own = [*takewhile(lambda word: word not in ("rm", "rmdir", "unlink"), words)]
    return any(map(_NULLS.fullmatch, own)) and not any(word.startswith(("-d", "--d")) for word in own)


def _is_beside_generated(name: str, names: Sequence[str]) -> bool:
    """Whether a folder or file goes together with what only tools make in the same place: they make it, too."""
    if stem := _PRINTED_BY_TEX.fullmatch(name):
        return any(each.startswith(f"{stem[1]}.") and _FILES.fullmatch(each) for each in names)
    folder, _, last = name.rstrip("/").rpartition("/")
    others = (each.rstrip("/").rpartition("/") for each in names)
    return (
        last in _BUILT
        and _is_inside(name)
        and any(
            place == folder and (other in _UNMISTAKABLE or _FILES.fullmatch(other))
            for place, _, other in others
        )
    )


def _builds(script: Script) -> bool:
    started = (each.words for each in script.commands if each.words)
    return any(
        _BUILDERS.fullmatch(words[0].rpartition("/")[2]) or _BUILDERS.fullmatch(" ".join(words))
        for words in started
    )


def deletes_only_empty(run: Invocation, script: Script) -> bool:
    """Whether a command deletes nothing but what is empty, which a find below the current folder lists."""
    if run.program in _SEARCHERS:
        return "-delete" in run.arguments and _finds_only_empty(run.arguments) and stays_in_workspace(script)
    words = [word for word in run.arguments if word not in ("{}", "--")]
    return (
        run.program in ("rm", "rmdir", "unlink")
        and run.in_loop
        and all(word in ("-f", "-v", "-d") for word in words)
        and all(
            (command.words[:1] == ("xargs",) and _splits_at_nulls(command.words[1:]) and _prints_nulls(script))
            or _finds_only_empty(command.words[1:])
            for command in script.commands
        )
        and is_selected_by_words(
            [replace(command, words=drop_left_out(command.words)) for command in script.commands]
        )
    )


def _prints_nulls(script: Script) -> bool:
    """Whether no name that is found can be read as two."""
    return all("-print0" in command.words for command in script.commands if command.words[:1] == ("find",))


def deletes_only_temporary(run: Invocation, roots: Sequence[str]) -> bool:
    """Whether `rm` deletes nothing but what it names in full below the folder for temporary files.

    Workspaces may lie there too. What a link in that folder leads to has further parts in its name.
    """
    names = [word for word in run.arguments if not _FLAGS.fullmatch(word)]
    return (
        run.program == "rm"
        and bool(names)
        and not run.in_loop
        and all(is_temporary(name, roots) and _TOP.search(name) for name in names)
        and not any(is_below_any(root, [name.rstrip("/") for name in names]) for root in roots)
    )


def _moves_into_temporary(script: Script | None) -> bool:
    """Whether what lies in the folder for temporary files was somewhere else before."""
    return script is not None and any(
        each.words[:1] == ("mv",) and is_temporary(f"{each.words[-1].rstrip('/')}/x")
        for each in script.commands
    )


def _deletes_only_caches(run: Invocation) -> bool:
    """Whether `rm` deletes nothing but folders of the person's in which programs keep what they fetch again."""
    names = [word for word in run.arguments if not _FLAGS.fullmatch(word)]
    is_plain = run.program == "rm" and not (run.wrappers or run.in_loop)
    return is_plain and bool(names) and all(_CACHES.fullmatch(normalize(name)) for name in names)


def _empties_only_output(run: Invocation) -> bool:
    """Whether `truncate` empties nothing but files that are empty as a rule, or hold what programs print, below
    the current folder."""
    if run.program != "truncate" or run.wrappers or run.in_loop:
        return False
    sizes = {*run.find_values("-s", "--size")}
    names = [word for word in run.operands if word not in sizes]
    return (
        sizes == {"0"}
        and bool(names)
        and all(_MADE_EMPTY.fullmatch(each) and _is_inside(each) for each in names)
    )


def changes_rights_inside(run: Invocation, script: Script, roots: Sequence[str]) -> bool:
    """Whether a command changes the rights of named files and folders alone that are below the current one, or
    are temporary."""
    if run.program not in _REVERSIBLE or run.wrappers or run.in_loop:
        return False
    names = [word for word in run.arguments if not word.startswith("-")][1:]
    return (
        bool(names)
        and all(_is_inside(name) or is_temporary(name, roots) for name in names)
        and stays_in_workspace(script)
    )


def changes_only_folders(run: Invocation, script: Script) -> bool:
    """Whether `chmod` changes folders alone, which a find lists: their special bits give nobody any rights."""
    if run.program != "chmod" or not run.in_loop:
        return False
    searches = [command.words for command in script.commands if command.words[:1] == ("find",)]
    is_of_folders = all(" -type d " in f"{' '.join(words)} " for words in searches)
    return bool(searches) and is_of_folders and is_selected_by_words(script.commands)


def deletes_only_what_is_remade(run: Invocation) -> bool:
    """Whether a use of `rm` deletes caches alone; xargs and the like give it further names."""
    is_given_names = bool({"xargs", "parallel"}.intersection(run.wrappers))
    return (
        run.program == "rm"
        and bool(run.operands)
        and not is_given_names
        and all(is_remade(word) for word in run.operands)
    )


def fill_in_generated(run: Invocation, whole: Invocation) -> Invocation:
    """A deletion with a name in place of `{}`, where the search that starts it finds generated files alone."""
    starts = run.program == "rm" and run.in_loop and whole.program in _SEARCHERS
    if not (starts and "{}" in run.arguments and _finds_only_generated(whole)):
        return run
    place, name = whole.arguments[0], next(whole.find_values("-name", "-iname"), "*")
    if _begins_in_temporary(place):
        name = f"{place.rstrip('/')}/found"
    return replace(
        run, arguments=tuple(name if word == "{}" else word for word in run.arguments), in_loop=False
    )


def _find_cleaned(run: Invocation) -> Sequence[str]:
    """The flags and paths of `git clean`, which without paths deletes what nobody can make again: .env."""
    return (
        [word for word in run.arguments[1:] if not _CLEANS.fullmatch(word)]
        if run.arguments[:1] == ("clean",)
        else ()
    )


def _finds_only_generated(search: Invocation) -> bool:
    words = [word for word in search.arguments if word != "-prune"]
    start = next((place for place, word in enumerate(words) if word.startswith("-")), len(words))
    names = (*search.find_values("-name", "-iname"),)
    # Folders named target or out may be written by hand deep in a source tree.
    is_known = bool(names) and all(
        is_remade(name) or name == "node_modules" or _FILES.fullmatch(name) for name in names
    )
    is_temporary_tree = start > 0 and all(
        _begins_in_temporary(word) and (names or "/" in word.rstrip("/").removeprefix("./"))
        for word in words[:start]
    )
    return (is_known or is_temporary_tree) and all(map(_is_inside, words[:start])) and is_plain_find(words)


def _finds_only_empty(words: Sequence[str]) -> bool:
    plain = drop_left_out(words)
    start = next((place for place, word in enumerate(words) if word.startswith(("-", "!"))), len(words))
    sizes = (plain[place + 1] for place, word in enumerate(plain[:-1]) if word == "-size")
    is_empty = "-empty" in plain or any(map(_EMPTY_SIZES.fullmatch, sizes)) or _deletes_folders_alone(plain)
    return is_empty and all(map(_is_inside, words[:start])) and is_plain_find(plain)


def _deletes_folders_alone(words: Sequence[str]) -> bool:
    """Whether a find itself deletes folders: it cannot delete one that holds something."""
    return "-delete" in words and ("-type", "d") in pairwise(words)


def is_generated(path: str) -> bool:
    """Whether a relative path is that of something that tools make from other files."""
    *folders, name = path.rstrip("/").removeprefix("./").split("/")
    plain = name if name.startswith(".") else name.replace("*", "")
    if folders and _begins_in_temporary(path) and _is_inside("/".join((*folders, plain))):
        return True
    if "*" in name:
        is_known = is_remade(name) or _FILES.fullmatch(name) is not None
        return is_known and (not folders or _is_inside("/".join(folders)))
    if name in _OF_TOOLS_ALONE:  # whichever folder it lies in
        folders = [each for each in folders if each not in ("*", "**")]
        path = "/".join((*folders, name))
    is_made = (
        name in _FOLDERS
        or _BUILT_APART.fullmatch(name)
        or not _UNMISTAKABLE.isdisjoint(folders)
        or is_remade(path)
    )
    return (is_made or _FILES.fullmatch(name) is not None) and _is_inside(path)


def _begins_in_temporary(path: str) -> bool:
    return path.removeprefix("./").partition("/")[0] in ("tmp", ".tmp", "temp")


def stays_in_workspace(script: Script) -> bool:
    """Whether relative paths in a script are those of the folder that it begins in, or of one below."""
    return all(_stays(each.words, each.assignments) for each in script.commands)


def _is_inside(path: str) -> bool:
    parts = path.rstrip("/").split("/") if path != "/" else [""]
    return all(part != ".." and _NAME.fullmatch(part) for part in parts)


def _stays(words: Sequence[str], assignments: Sequence[str]) -> bool:
    """Whether relative paths behind a command are still those of the same workspace."""
    while words and words[0] in _STARTERS:
        words = words[1:]
    if any(each.startswith("CDPATH") for each in assignments):
        return False
    match words:
        case ():
            return True
        case ("cd" | "pushd", folder):
            return _is_inside(folder)
        case ("popd",):  # without a folder that was pushed it fails
            return True
        case (program, *_):
            return program not in (*_LEADS_AWAY, "cd") and not program.startswith(("$", "`"))
        case _:
            return False


_WRITES_TO = frozenset({">", ">>", ">|", "&>", "&>>", "<>"})
_TO_LAST = frozenset({"cp", "mv", "install", "ln", "rsync", "scp"})
_TO_ALL = frozenset({"tee", "touch", "mkdir", "mknod", "mkfifo", "truncate"})
_READERS = frozenset(
    {
        *("cat", "tac", "nl", "less", "more", "most", "bat", "batcat", "head", "tail", "grep"),
        *("egrep", "fgrep", "rg", "ag", "awk", "gawk", "mawk", "sed", "cut", "sort", "uniq"),
        *("strings", "xxd", "od", "hexdump", "base64", "base32", "cp", "mv", "install", "ln", "tar"),
        *("zip", "7z", "gzip", "bzip2", "xz", "scp", "rsync", "rclone", "curl", "wget", "dd", "rev"),
        *("vi", "vim", "nano", "emacs", "diff", "cmp", "openssl", "nc", "ncat", "netcat", "socat"),
        *("john", "hashcat", "jq", "yq", "paste", "fold", "sqlite3", ".", "source", "aws", "gsutil"),
        *("s3cmd", "ssh-add", "mail", "mutt", "ftp", "sftp", "tftp", "read", "mapfile"),
    }
)
FILE_PROGRAMS = _READERS | _TO_LAST | _TO_ALL | {"rm", "unlink", "shred", "rmdir", "chmod", "chown"}
"""Programs whose operands are files, so that a bare word behind them names one."""
_FILES_SEARCHERS = frozenset({"grep", "egrep", "fgrep", "rg", "ag", "ack", "findstr"})
_SECRET_WORDS = re.compile(
    r"(?i)passw(or)?d|passwd|api[_.-]?key|secret|private[_ .]key|begin (rsa|openssh|ec|dsa)|access_key"
)
_WIDE = re.compile(r"/|~|/(etc|home|root|var|opt|srv|Users)?/?|/home/.*|~/.*|\$HOME.*")
# Servers of development keep nothing; a bare name of an interpreter is that of anything.
_SERVERS = re.compile(
    r"""
      (?:(?:node\ (?:\S*/)?)?(?:vite|next(?:-server)?|nuxt|webpack(?:-dev-server)?|nodemon|ts-node-dev|astro
           |storybook|esbuild|parcel|ng\ serve|react-scripts|browser-sync|live-server|http-server
           |json-server|uvicorn|hugo|jekyll)
      | (?:npm|pnpm|yarn|bun)\ (?:run\ )?(?:dev|start|serve|preview)
      | (?:(?:python3?|uv\ run)\ )?(?:-m\ )?(?:http\.server|(?:\./)?manage\.py\ runserver|flask\ run
           |mkdocs\ serve)
      | (?:(?:bin/)?rails|php\ artisan)\ (?:s|server|serve))(?:\ [\w\ ./:=-]+)?
    | php\ -S\ [\w.:-]+
    """,
    re.VERBOSE,
)
_MAY_LOSE_NOTHING = frozenset(
    {
        "truncate",
        *("rm", "rmdir", "unlink", "git", "find", "gfind", "bfs"),
        *("chmod", "chown", "chgrp", "pkill", "killall", "fuser"),
    }
)
_ASKS_TO_FIND = re.compile(r"-[fxno]+|--full|--exact|--newest|--oldest")
_ASKS_TO_END = re.compile(r"-f|--full|-x|-e|-q|-(SIG)?(TERM|INT|KILL|HUP)|-(1|2|9|15)")
_OPEN_PORT = re.compile(r"(?!0|10[01]\d/)\d{4,5}/(tcp|udp)")
_KEY_NAMES = re.compile(r"\*?(id_(rsa|dsa|ecdsa|ed25519).*|\.pem|\.ppk|\.kdbx|\.netrc|\.pgpass|credentials)\*?")


def list_deletions(
    run: Invocation, roots: Sequence[str] = (), script: Script | None = None
) -> Iterator[Objection]:
    """Deletion by `rm` of what nobody can make anew, moving to where nothing stays, and emptying."""
    if run.program == "rm" and not {"--help", "--version"}.intersection(run.arguments):
        kept = [word for word in run.operands if not is_remade(word) and not is_temporary(word, roots)]
        if kept or not run.operands:
            yield Objection("destructive", "rm: it deletes files", RequestTerms(effect=Effect.DELETE))
    if run.program == "mv" and run.operands[-1:] == ("/dev/null",):
        yield Objection("destructive", "mv: it moves files to where nothing stays")
    is_emptying = run.program == "install" and "/dev/null" in run.operands[:-1]
    is_emptying |= run.program in ("cp", "cat") and run.operands[:1] == ("/dev/null",)
    if is_emptying and tuple(list_written(run)):
        yield Objection("destructive", f"{run.program}: it empties files", RequestTerms(effect=Effect.EMPTY))
    if run.program in _PRINTS_NOTHING and any(_empties(each, roots, script) for each in run.redirects):
        yield Objection("destructive", "it empties files", RequestTerms(effect=Effect.EMPTY))
    is_sed = run.program in ("sed", "gsed") and tuple(list_written(run))
    if is_sed and run.operands and _DELETES_ALL_LINES.fullmatch(run.operands[0]):
        yield Objection("destructive", "sed: it empties files")
    if run.program in _EDITORS and any(map(_EMPTIED_BY_EDITOR.fullmatch, _list_editor_commands(run))):
        yield Objection("destructive", f"{run.program}: it empties files")
    if run.program in ("cp", "cat", "dd") and any(is_log(word) for word in list_written(run)):
        yield Objection("destructive", f"{run.program}: it overwrites logs")


_EDITORS = frozenset({"ex", "vi", "vim", "nvim", "ed", "red"})
_DELETING = _EDITORS | {"rm", "mv", "install", "cp", "cat", "sed", "gsed", "dd"}
_EMPTIED_BY_EDITOR = re.compile(r":?\s*(?:%|1,\$|,)\s*d(?:e(?:l(?:e(?:te?)?)?)?)?!?\s*")


def _list_editor_commands(run: Invocation) -> Iterator[str]:
    words = [word[1:] for word in run.arguments if word.startswith("+")]
    words += run.find_values("-c", "-sc", "-esc", "--cmd")
    return (part for text in (*words, run.text or "") for part in re.split(r"[|\n]", text))


def may_hold_something(path: str, roots: Sequence[str] = ()) -> bool:
    """Whether it loses something to make a file empty, as far as its name tells."""
    is_output = _MADE_EMPTY.fullmatch(path) or is_log(path) or is_remade(path)
    return not (is_output or is_temporary(path, roots) or path.startswith("/dev/"))


def _empties(redirect: Redirect, roots: Sequence[str], script: Script | None) -> bool:
    """Whether a redirect of what prints nothing leaves a file empty that held something, as far as its name and
    the rest of the script tell."""
    target = redirect.target
    if redirect.operator not in _OVERWRITES or not may_hold_something(target, roots):
        return False
    commands = script.commands if script is not None else ()
    if script is not None and script.problem is not None and commands[1:]:  # whose redirect it is nobody knows
        return False
    uses = sum(each.target == target for command in commands for each in command.redirects)
    return uses + sum(target in word for command in commands for word in command.words) < 2


def may_harm(program: str) -> bool:
    """Whether there is harm in words of a program; any may do harm by where its output goes."""
    return program in _MAY_LOSE_NOTHING or program in _DELETING or has_harmful_uses(program)


def list_harm(run: Invocation, roots: Sequence[str], script: Script | None = None) -> Iterator[Objection]:
    """What the tables have against a program, and deletions, but for what loses nothing.

    With the script that it stands in, names below the folder that this begins in are known for what they are.
    """
    if run.program not in _MAY_LOSE_NOTHING:
        if script is None or not uses_only_test_database(run, script):
            yield from tuple(list_harmful_uses(run)) or list_deletions(run, roots, script)
        return
    if deletes_only_what_is_remade(run) or ends_only_servers(run):
        return
    if deletes_only_temporary(run, roots) and not _moves_into_temporary(script):
        return
    if _deletes_only_caches(run) or _empties_only_output(run):
        return
    if script is not None and (deletes_only_generated(run, script) or deletes_only_empty(run, script)):
        return
    listed = tuple(list_harmful_uses(run))
    if script is not None and changes_rights_inside(run, script, roots):
        listed = tuple(each for each in listed if not each.reason.endswith(WHOLE_FOLDERS))
    if script is not None and changes_only_folders(run, script):
        listed = tuple(each for each in listed if not each.reason.endswith(SPECIAL_BITS))
    yield from listed or list_deletions(run, roots)


def finds_only_servers(run: Invocation) -> bool:
    """Whether a program lists the processes of nothing but such servers."""
    patterns = [word for word in run.arguments if not _ASKS_TO_FIND.fullmatch(word)]
    is_finder = run.program in ("pgrep", "pidof") and not (run.wrappers or run.in_loop)
    return is_finder and len(patterns) == 1 and _SERVERS.fullmatch(patterns[0]) is not None


def ends_only_servers(run: Invocation) -> bool:
    """Whether a program ends nothing but servers that developers start again at will."""
    if run.wrappers or run.in_loop:
        return False
    match run.program:
        case "pkill" | "killall":
            patterns = [word for word in run.arguments if not _ASKS_TO_END.fullmatch(word)]
            return len(patterns) == 1 and _SERVERS.fullmatch(patterns[0]) is not None
        case "fuser":
            names = [word for word in run.arguments if not re.fullmatch(r"-[kvs]+|-(TERM|INT|KILL|9|15)", word)]
            return bool(names) and all(map(_OPEN_PORT.fullmatch, names))
        case _:
            return False


def list_ended_processes(run: Invocation) -> Iterator[Objection]:
    """Processes ended that were found, or are ended without being asked."""
    if run.program != "kill" or run.arguments[:1] in (("-l",), ("-L",), ("-0",), ("--list",)):
        return
    others = [word for word in _list_process_words(run) if not word.startswith(("$(", "`", "{}"))]
    if Carried.PORT in run.carried and not others:
        return
    given = set(run.arguments)
    named = given & {"9", "KILL", "SIGKILL"} and given & {"-s", "-n", "--signal"}
    ends_all = run.arguments[-1:] == ("-1",) or "-1" in _list_process_words(run)
    if given & {"-9", "-KILL", "-SIGKILL", "-kill"} or named or ends_all:
        yield Objection("destructive", "kill: it ends processes without asking them", _ask_to_end(run))
    if run.in_loop or Carried.PROCESSES in run.carried:
        yield Objection("destructive", "kill: it ends every process that is found")


def _ask_to_end(run: Invocation) -> RequestTerms | None:
    """How a person asks for it: by the number of each process. Groups of processes have none."""
    numbers = _list_process_words(run)
    if not numbers or not all(re.fullmatch(r"[1-9]\d+", number) for number in numbers):
        return None
    return RequestTerms(effect=Effect.END, names=frozenset(numbers))


def _list_process_words(run: Invocation) -> Sequence[str]:
    """What `kill` is to end: every word behind the signal, also `-1`, all processes, and the groups `-N`."""
    match run.arguments:
        case ("-s" | "-n" | "--signal", _, *words):
            pass
        case (first, *words) if first.startswith("-") and first != "--":
            pass
        case _:
            words = list(run.arguments)
    return words[1:] if words[:1] == ["--"] else words


WRITING = (
    _TO_LAST
    | _TO_ALL
    | {"wget", "aria2c", "curl", "dd", "sed", "gsed", "perl", "ruby", "tar", "unzip", "bsdtar"}
)
"""The programs that write to files which their words name."""


def list_written(run: Invocation) -> Iterator[str]:
    """The paths that a command is seen to write to."""
    for redirect in run.redirects:
        if redirect.operator in _WRITES_TO or (redirect.operator == ">&" and not redirect.target.isdigit()):
            yield redirect.target
    operands = run.operands
    if run.program in _TO_LAST:
        yield from run.find_values("-t", "--target-directory") if run.program != "scp" else ()
        yield from operands[-1:] if len(operands) > 1 else ()
    elif run.program in _TO_ALL:
        yield from operands
    elif run.program in ("wget", "aria2c"):
        yield from run.find_values("-O", "-P", "--output-document", "--directory-prefix", "-d", "-o")
    elif run.program == "curl":
        yield from run.find_values("-o", "--output", "--output-dir")
    elif run.program == "dd":
        yield from (word[3:] for word in run.arguments if word.startswith("of="))
    elif run.program in ("sed", "gsed", "perl", "ruby") and any(
        re.fullmatch(r"-[a-zA-Z0-9]*i.*|--in-place.*", word) for word in run.arguments
    ):
        yield from operands
    elif run.program in ("tar", "unzip", "bsdtar"):
        yield from (
            run.find_values("-C", "--directory", "-d") if run.program != "unzip" else run.find_values("-d")
        )


def list_written_places(written: Iterable[str]) -> Iterator[Objection]:
    """What is wrong with writing to some paths."""
    for path in written:
        if is_device(path):
            yield Objection("destructive", f"it writes to a device: {path}")
        elif runs_on_its_own(path):
            yield Objection(
                "persistence",
                f"it writes {path}, which runs, or lets somebody in, without being asked",
                _ask_to_write(path),
            )
        elif belongs_to_system(path):
            yield Objection("path", f"it writes to the system's own files: {path}")


def _ask_to_write(path: str) -> RequestTerms | None:
    """How a person asks for it: for what runs for themselves alone; never for what lets somebody in."""
    place = normalize(path)
    is_own = place.startswith("~/") or not place.startswith("/")
    if not is_own or place.startswith("~/.ssh") or "$" in place:
        return None
    return RequestTerms(effect=Effect.INSTALL, names=frozenset({path}))


READING = _READERS | _FILES_SEARCHERS | {"find"}
"""The programs that read, or look for, files which their words name."""


def _shows_certificates(run: Invocation) -> bool:
    """Whether a program shows of a file that may hold a key only the certificates beside it."""
    return run.program == "openssl" and run.arguments[:1] in (("x509",), ("verify",), ("crl",))


def list_read_credentials(run: Invocation, is_sensitive: Callable[[str], bool]) -> Iterator[Objection]:
    """Credentials that a command reads, or looks for."""
    redirected = [redirect.target for redirect in run.redirects if redirect.operator == "<"]
    names = [*redirected]
    if run.program in _READERS:
        names += [word.lstrip("@") for word in run.arguments]
    if names and not _shows_certificates(run):
        keys: set[str] | None = None  # to look for them takes longer than to look at most names
        for name in names:
            path = name.rpartition("@")[2]
            is_local = "/" in path.removeprefix("./") and "://" not in path and not is_public_key(path)
            if not (holds_credentials(path) or (is_local and is_sensitive(path))):
                continue
            if keys is None:
                keys = set(run.find_values("-i", "--cert", "--key", "--cacert", "-keyout", "-out"))
            if name in redirected or name not in keys:
                yield Objection("secret", f"{run.program}: it reads {path}, which holds credentials")
    if run.program in _FILES_SEARCHERS and run.operands:
        wide = any(_WIDE.fullmatch(word) for word in run.operands[1:])
        if wide and any(_SECRET_WORDS.search(word) for word in run.arguments):
            yield Objection("secret", f"{run.program}: it searches for credentials")
    is_wide_find = run.program == "find" and any(_WIDE.fullmatch(word) for word in run.operands[:1])
    if is_wide_find and any(_KEY_NAMES.fullmatch(name) for name in run.find_values("-name", "-iname")):
        yield Objection("secret", "find: it searches for credentials")
