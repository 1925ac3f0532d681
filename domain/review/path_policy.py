"""Which paths are the workspace, which are protected from writing, which are sensitive even to read."""

from __future__ import annotations

import posixpath
import re
import sys
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from fnmatch import translate
from functools import cached_property, lru_cache
from typing import overload

from msgspec import Struct

from quorum.domain.shell.command_line import CommandLine, SimpleCommand
from quorum.domain.shell.command_spec import parse_use
from quorum.domain.shell.git_commands import parse_git_use
from quorum.domain.shell.read_only_commands import READ_ONLY_COMMANDS
from quorum.domain.text.paths import is_below_any
from quorum.domain.text.pattern import compile_once


class WorkspaceRoots(Sequence[str]):
    """Canonical absolute paths, the working directory first. Whoever holds it sees what is added later.

    Reading is safe from any thread: it looks at one state, never at half of a change.
    """

    def __init__(self, first: Iterable[str], added: Iterable[str] = ()) -> None:
        """`first` are the folders that stay; there is one at least."""
        self._first = tuple(first)
        self._all = self._first
        self.replace_added(added)

    @property
    def added(self) -> tuple[str, ...]:
        """The folders beside those that stay, in the order in which they were added."""
        return self._all[len(self._first) :]

    def replace_added(self, folders: Iterable[str]) -> None:
        """Have exactly these folders beside those that stay. One inside of another adds nothing."""
        kept: list[str] = []
        wanted = list(dict.fromkeys(folders))
        for folder in wanted:
            others = (*self._first, *(other for other in wanted if other != folder))
            if not is_below_any(folder, others):
                kept.append(folder)
        self._all = (*self._first, *kept)

    def __len__(self) -> int:
        return len(self._all)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...

    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        return self._all[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)


# What programs run or obey on their own: when a folder is entered or opened, at a commit or a push, or
# when another agent starts. Build files, which run when the person builds, are not here.
PROTECTED: tuple[str, ...] = (
    # repositories, and what runs on a commit
    *(".git/", ".hg/", ".jj/", ".gitmodules", ".gitattributes", ".gitconfig", ".husky/", ".githooks/"),
    *(
        ".pre-commit-config.yaml",
        ".pre-commit-config.yml",
        ".pre-commit-hooks.yaml",
        "lefthook.*",
        ".lefthook.*",
    ),
    *("lefthook-local.*", ".lefthook-local.*", ".lefthook/", ".overcommit.yml", ".lintstagedrc*"),
    *("lint-staged.config.*", ".simple-git-hooks.*"),
    # agents
    *(
        "quorum.toml",
        ".quorum/",
        "AGENTS.md",
        "AGENTS.override.md",
        "CLAUDE.md",
        "CLAUDE.local.md",
        "GEMINI.md",
    ),
    *(".mcp.json", ".claude/", ".claude.json", ".cursor/", ".cursorrules", ".codex/", ".gemini/", ".agents/"),
    *(".windsurf/", ".windsurfrules", ".clinerules", ".roo/", ".roomodes", ".continue/", ".kiro/", ".junie/"),
    *(".amazonq/", ".opencode/", "opencode.json", "opencode.jsonc", ".aider.conf.yml"),
    *("QWEN.md", ".qwen/", "WARP.md", ".agent/", ".crush/", ".crush.json", "crush.json", ".goose/"),
    *(".goosehints", ".trae/", ".augment/", ".augment-guidelines", ".factory/", ".kilocode/", ".kilocodemodes"),
    *(".openhands/", ".aiassistant/", ".rules", ".vibe/", ".kimi-code/"),
    # editors and development containers
    *(".vscode/", "*.code-workspace", ".idea/", ".fleet/", ".zed/", ".devcontainer/", ".devcontainer.json"),
    *(
        ".gitpod.yml",
        ".exrc",
        ".vimrc",
        ".nvimrc",
        ".nvim.lua",
        ".lvimrc",
        ".dir-locals.el",
        ".dir-locals-2.el",
    ),
    *(".helix/", ".nova/", ".vs/", "*.sublime-project", ".externalToolBuilders/"),
    # interpreters, which run these where they start
    *(".Rprofile", ".irbrc", ".pryrc", ".ghci", ".ocamlinit", ".iex.exs", ".pdbrc", ".octaverc", ".rvmrc"),
    # shells, version managers, and settings of tools that name programs
    *(".envrc", "mise.toml", ".mise.toml", "mise.*.toml", ".mise.*.toml", "mise/config.toml"),
    *(".mise/", ".config/mise/", ".rtx.toml"),
    *(".tool-versions", ".cargo/", "rust-toolchain", "rust-toolchain.toml", ".yarnrc", ".yarnrc.yml"),
    *(".yarn/plugins/", ".yarn/releases/", ".pnpmfile.cjs", ".pnpmfile.mjs", ".npmrc", "bunfig.toml"),
    *(".mvn/", "gradle/wrapper/", ".ripgreprc"),
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".inputrc"),
    *(".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".config/fish/", ".config/git/"),
    *(".config/autostart/", ".config/systemd/"),
    # continuous integration
    *(
        ".ci/",
        ".github/",
        "CODEOWNERS",
        ".gitlab-ci.yml",
        ".gitlab/",
        ".gitlab-ci/",
        ".circleci/",
        "Jenkinsfile",
    ),
    *("Jenkinsfile.*", "azure-pipelines*.yml", "azure-pipelines*.yaml", ".azure-pipelines/", ".azuredevops/"),
    *(".travis.yml", ".buildkite/", ".drone.*", "bitbucket-pipelines.yml", ".woodpecker/", ".woodpecker.*"),
    *(".forgejo/", ".gitea/", "appveyor.yml", ".appveyor.yml", ".cirrus.yml", ".cirrus.star", ".semaphore/"),
    *(".teamcity/", "cloudbuild.yaml", "cloudbuild.yml", "buildspec.yml", "buildspec.yaml", ".builds/"),
    *(".build.yml", ".tekton/", ".harness/", "codefresh.yml", ".zuul.yaml", ".zuul.d/", "netlify.toml"),
)
REPOSITORIES: tuple[str, ...] = (".git/", ".hg/", ".jj/")
"""What of these stays protected where the rest is reviewed as an effect."""
SENSITIVE: tuple[str, ...] = (
    # environments and state that hold secrets
    *(".env", ".env.*", "*.env", ".env~", ".envrc", ".flaskenv", ".dev.vars", ".dev.vars.*"),
    *("local.settings.json", "*.tfstate", "*.tfstate.*", "secrets.toml"),
    ".secrets",
    # private keys and stores of keys
    *("*.pem", "*.key", "*.p8", "*.p12", "*.pfx", "*.pkcs12", "*.kdbx", "*.jks", "*.keytab"),
    *("*.ppk", "*.ovpn", "id_rsa*", "id_ed25519*", "id_ecdsa*", "id_dsa*", "*_rsa", "*_ed25519", "*_ecdsa"),
    *("ssh_host_*_key", ".ssh/", ".gnupg/", ".password-store/"),
    # what programs sign in with
    *("credentials", "credentials.*", "*-credentials.json", "auth.json", "client_secret*.json"),
    *("service-account*.json", "service_account*.json", "serviceaccount*.json", "*firebase-adminsdk*.json"),
    *("application_default_credentials.json", ".netrc", "_netrc", ".git-credentials", ".pgpass", ".my.cnf"),
    *(".mylogin.cnf", ".npmrc", ".pypirc", ".htpasswd", ".vault-token", ".boto", ".s3cfg", "rclone.conf"),
    *(".terraformrc", "terraform.rc", "credentials.tfrc.json", ".sentryclirc", ".databrickscfg", "kaggle.json"),
    *(".aws/", ".config/gcloud/", ".config/gh/hosts.yml", ".docker/config.json", ".dockercfg"),
    *(".dockerconfigjson", ".kube/config", "kubeconfig", "kubeconfig.*", "*.kubeconfig"),
    # what was typed
    *(".bash_history", ".zsh_history", ".python_history", ".psql_history", ".mysql_history"),
)
# They show which names there are, not what they hold. Only a pattern without wildcards covers them.
_EXAMPLES = r"\.(?:env|envrc|flaskenv|dev\.vars)\.(?:example|sample|template|dist)"
_WILD = r"[*?\[]"
# HFS+ compares names as if these were not there; NTFS and FAT drop dots and blanks at the end, have streams of
# data behind a colon, and give each long name a short one.
_UNSEEN = "[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]"
_ENDING = r"(?::[^:]*:\$[a-z_]+)?[. ]*\Z"
# What editors, file managers, package managers and people add to the name of a file for another copy of it. Vim
# and Kate put a dot in front as well.
_COPY_ENDINGS = (
    *(
        "~",
        ".bak",
        ".backup",
        ".orig",
        ".original",
        ".old",
        ".save",
        ".saved",
        ".copy",
        ".tmp",
        ".temp",
        ".rej",
    ),
    *(".swp", ".swo", ".swn", ".kate-swp", ".dpkg-old", ".dpkg-dist", ".dpkg-new", ".dpkg-tmp", ".ucf-old"),
    *(".rpmsave", ".rpmorig", ".rpmnew", ".pacnew", ".pacsave", "___jb_tmp___", "___jb_old___"),
)
_COPY = (
    r"(?:#|copy of )(?P<inner>.+?)#?|(?P<above>.+?)(?:"
    + "|".join(map(re.escape, sorted(_COPY_ENDINGS, key=len, reverse=True)))
    + r"|\.~[0-9]+~|\.un~|[.-][0-9]+|[._-](?:bak|backup|old|orig|copy)[0-9]*)"
    r"|(?P<stem>.+?)(?: - copy| copy)?(?: ?\([0-9]+\)| [0-9]+)?(?P<suffix>\.[^.]*)?"
)
_MOST_COPIED = 3
# Every file found is checked: most names are told by their ends to be no such thing.
_COPY_ENDS = (*_COPY_ENDINGS, "#", "bak", "backup", "old", "orig", "copy", *"0123456789")


def is_git_folder_name(name: str) -> bool:
    """Whether some file system takes this name for `.git`."""
    spellings = _list_spellings(name)
    return ".git" in spellings or any(re.fullmatch(r"git~[0-9]", each) for each in spellings)


class NamePatterns:
    """Patterns of single names, compared without regard to case and as lax file systems compare names.

    With `copies` they also cover the names that editors and people give to copies of such files.
    """

    def __init__(self, patterns: Iterable[str], *, copies: bool = False) -> None:
        self._copies = copies
        folded = [pattern.casefold() for pattern in patterns]
        wild = [pattern for pattern in folded if compile_once(_WILD).search(pattern)]
        self._plain = frozenset(folded).difference(wild)
        # Most have one `*`, at an end: matched without an expression, since every file found is checked.
        ends = [each for each in wild if each[0] == "*" and not compile_once(_WILD).search(each[1:])]
        begins = [each for each in wild if each[-1] == "*" and not compile_once(_WILD).search(each[:-1])]
        self._endings = tuple(each[1:] for each in ends)
        self._beginnings = tuple(each[:-1] for each in begins)
        self._wild = _compile_alternatives(
            translate(each) for each in wild if each not in ends and each not in begins
        )

    @cached_property
    def _short(self) -> re.Pattern[str]:
        """The names as old file systems shorten them; most names hold no `~`, and nobody asks for it."""
        return _compile_alternatives(filter(None, map(_build_short_name, sorted(self._plain))))

    def covers(self, name: str) -> bool:
        """Whether one of the patterns covers a name."""
        for spelling in _list_spellings(name):  # no generator: every file of a workspace is asked about
            if self._covers(spelling) or (self._copies and self._covers_copied(spelling)):
                return True
        return False

    def _covers_copied(self, name: str) -> bool:
        """Whether they cover what this name says that it is a copy of; there may be copies of copies."""
        for _ in range(_MOST_COPIED):
            if (copied := _find_copied(name)) is None:
                return False
            if self._covers(copied) or self._covers(copied.removeprefix(".")):
                return True
            name = copied
        return False

    def _covers(self, name: str) -> bool:
        if name in self._plain or ("~" in name and self._short.fullmatch(name)):
            return True
        is_wild = name.endswith(self._endings) or name.startswith(self._beginnings) or self._wild.match(name)
        return bool(is_wild) and not compile_once(_EXAMPLES).fullmatch(name)


def _compile_alternatives(expressions: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(expressions) or r"(?!)")


def extract_last_names(patterns: Iterable[str], *, copies: bool = False) -> NamePatterns:
    """The last names of patterns: a path whose last name they do not cover is not where a pattern ends.

    With `copies` they cover copies as well, as `PathPolicy.is_sensitive` does.
    """
    return _share_last_names(tuple(patterns), copies)


@lru_cache(maxsize=32)
def _share_last_names(patterns: tuple[str, ...], copies: bool) -> NamePatterns:
    """The same ones for the same patterns: each search of a workspace asks for them."""
    ends = (pattern.strip("/").rpartition("/")[2] for pattern in patterns)
    return NamePatterns((end for end in ends if end), copies=copies)


def _list_spellings(name: str) -> tuple[str, ...]:
    """A name as it is, and where that differs as lax file systems read it."""
    name = name.casefold()
    if name.isascii() and name[-1:] not in (".", " ") and ":$" not in name:
        return (name,)
    seen = unicodedata.normalize(
        "NFC", compile_once(_UNSEEN).sub("", unicodedata.normalize("NFD", name))
    ).casefold()
    return tuple(dict.fromkeys((name, seen, compile_once(_ENDING).sub("", seen))))


def _normalise_path(path: str) -> str:
    """A path as the laxest file system reads it."""
    folder, slash, name = path.rpartition("/")
    return _normalise_folder(folder) + slash + _list_spellings(name)[-1]


@lru_cache(maxsize=4096)
def _normalise_folder(path: str) -> str:
    """The same of a folder: the next path that is asked about mostly lies in it too."""
    return "/".join(_list_spellings(name)[-1] for name in path.split("/"))


def _find_copied(name: str) -> str | None:
    """The name of the file that this one names itself a copy of, if it does."""
    if not (name.endswith(_COPY_ENDS) or " " in name or "(" in name):
        return None
    if (found := compile_once(_COPY).fullmatch(name)) is None:
        return None
    copied = found["inner"] or found["above"] or f"{found['stem']}{found['suffix'] or ''}"
    return copied if copied != name else None


def _build_short_name(name: str) -> str | None:
    """An expression for the short names that FAT and NTFS may give a name; None where it is short already."""
    stem, _, ending = name.lstrip(".").rpartition(".")
    stem, ending = (stem, ending) if stem else (ending, "")
    if not name.startswith(".") and len(stem) <= 8 and len(ending) <= 3 and "." not in stem:
        return None
    first = re.escape(re.sub(r"[. ]", "", stem)[:6])
    return rf"{first}~[0-9]" + (re.escape(f".{ending[:3]}") if ending else "")


# The interpreter imports them, or looks for them, before a program can say from where.
_IMPORTED_AT_START = frozenset(name.casefold() for name in sys.stdlib_module_names) | {
    *("sitecustomize", "usercustomize", "quorum"),
}
_MODULE_ENDINGS = (".py", ".pyc", ".so")


class OwnCode(Struct, frozen=True, kw_only=True):
    """What quorum itself loads and starts, as absolute paths, which may grow while it loads more.

    `places` are files and folders, with all below them. `import_folders` are folders of the import path that
    hold other files, too: of those the modules count that are imported when the interpreter starts.
    """

    places: Collection[str] = ()
    import_folders: Collection[str] = ()

    def covers(self, path: str) -> bool:
        """Whether a canonical path is such code, or would be loaded as such."""
        path = _normalise_path(path)
        if is_below_any(path, map(_normalise_folder, self.places)):
            return True
        inside = (_normalise_folder(folder).rstrip("/") + "/" for folder in self.import_folders)
        return any(
            path.startswith(folder) and _is_imported_at_start(*path[len(folder) :].split("/")[:2])
            for folder in inside
        )


def _is_imported_at_start(name: str, inner: str = "") -> bool:
    """Whether a module's file, or a file in a package's folder, is of one that is imported at a start."""
    stem, dot, _ = name.partition(".")
    if stem not in _IMPORTED_AT_START:
        return False
    return name.endswith(_MODULE_ENDINGS) if dot else inner.startswith("__init__.")


NO_CODE = OwnCode()


class GuardedPlaces:
    """Places that are guarded whatever their names say, with all below them; they may change while a session
    lasts. This one has none."""

    def is_protected(self, path: str) -> bool:
        """Whether a canonical path is one that programs obey by a link or a setting, or that was moved."""
        return False

    def is_sensitive(self, path: str) -> bool:
        """Whether a canonical path holds what was sensitive under another name."""
        return False


NO_PLACES = GuardedPlaces()
# Exactly so spelled: a file of this name makes a repository of a folder that holds what one needs besides.
_REPOSITORY_NAMES = frozenset({"HEAD", "commondir"})


class PathPolicy(Struct, frozen=True, kw_only=True):
    """Patterns as in ignore files, compared without regard to case.

    A pattern without an inner slash matches a file or folder of that name at any depth, and with it all
    below; a pattern with an inner slash matches that run of names at any depth. `*` does not cross a slash.
    A pattern with a wildcard does not cover examples such as `.env.example`.
    `own` are canonical paths of quorum's own files and folders: protected and sensitive wherever they lie.
    `code` is what quorum itself loads and starts: protected wherever it lies. `places` are guarded besides.
    `roots` may grow while a session lasts, see `WorkspaceRoots`; not where a layer holds them (`is_layered`).
    """

    roots: Sequence[str]
    is_layered: bool = False
    own: tuple[str, ...] = ()
    code: OwnCode = NO_CODE
    places: GuardedPlaces = NO_PLACES
    protected: tuple[str, ...] = PROTECTED
    sensitive: tuple[str, ...] = SENSITIVE

    def is_inside(self, path: str) -> bool:
        """Whether a canonical path lies in the workspace."""
        return is_below_any(path, self.roots)

    def is_protected(self, path: str) -> bool:
        """Whether writing this path is always asked about."""
        return (
            self._is_own(path)
            or _matches_any(self._list_names(path), self.protected)
            or path.rpartition("/")[2] in _REPOSITORY_NAMES
            or self.code.covers(path)
            or self.places.is_protected(path)
        )

    def is_sensitive(self, path: str) -> bool:
        """Whether even reading this path is asked about."""
        return (
            self._is_own(path)
            or _matches_any(self._list_names(path), self.sensitive, copies=True)
            or self.places.is_sensitive(path)
        )

    def _is_own(self, path: str) -> bool:
        if not self.own:
            return False
        return is_below_any(_normalise_path(path), map(_normalise_folder, self.own))

    def _list_names(self, path: str) -> tuple[str, ...]:
        for root in self.roots:
            prefix = root.rstrip("/") + "/"
            if path.startswith(prefix):
                path = path[len(prefix) :]
                break
        return tuple(name for name in path.split("/") if name)


@lru_cache(maxsize=1024)
def _matches_any(names: tuple[str, ...], patterns: tuple[str, ...], *, copies: bool = False) -> bool:
    """Whether one of the patterns ends at one of the names, or the last is that of a copy. One call asks about
    its path several times."""
    return bool(names) and (_is_end_matched(names, patterns, copies) or _matches_folder(names[:-1], patterns))


@lru_cache(maxsize=256)
def _matches_folder(names: tuple[str, ...], patterns: tuple[str, ...]) -> bool:
    """The same for a folder: the next path that is asked about mostly lies in it too."""
    return any(_is_end_matched(names[:end], patterns) for end in range(1, len(names) + 1))


def _is_end_matched(names: tuple[str, ...], patterns: tuple[str, ...], copies: bool = False) -> bool:
    """Whether one of the patterns ends at the last of the names."""
    single, last, runs = _compile(patterns, copies)
    if single.covers(names[-1]):
        return True
    return last.covers(names[-1]) and any(
        all(part.covers(name) for part, name in zip(run, names[-len(run) :], strict=True))
        for run in runs
        if len(run) <= len(names)
    )


@lru_cache(maxsize=32)
def _compile(
    patterns: tuple[str, ...], copies: bool
) -> tuple[NamePatterns, NamePatterns, tuple[tuple[NamePatterns, ...], ...]]:
    """Those of one name together, the last names of the others together, and these others: every file is asked
    about."""
    parts = [[part for part in pattern.split("/") if part] for pattern in patterns]
    single = NamePatterns((each[0] for each in parts if len(each) == 1), copies=copies)
    several = [each for each in parts if len(each) > 1]
    last = NamePatterns((each[-1] for each in several), copies=copies)
    return (
        single,
        last,
        tuple(
            (*(NamePatterns((part,)) for part in above), NamePatterns((end,), copies=copies))
            for *above, end in several
        ),
    )


def list_named_reads(line: CommandLine, folder: str) -> tuple[str, ...]:
    """The absolute paths that a command which starts in `folder` names to read, `cd` taken into account.

    Nothing is looked at: a link is what it is called. The command must be one that by its words only reads.
    Raises NotReadOnly for any other.
    """
    found: list[str] = []
    for command in line.commands:
        targets = [redirect.target for redirect in command.redirects if redirect.only_reads]
        found += (_join(folder, path) for path in (*targets, *_list_paths(command)))
        if command.name == "cd":
            folder = _join(folder, command.words[1] if len(command.words) > 1 else "~")
            found.append(folder)
    return tuple(dict.fromkeys(found))


def _list_paths(command: SimpleCommand) -> Iterator[str]:
    name, rest = command.name, command.words[1:]
    if name == "git":
        use = parse_git_use(rest)
        yield from use.folders
        yield from (path.path for path in use.use.paths)
    elif name in READ_ONLY_COMMANDS:
        yield from (path.path for path in parse_use(READ_ONLY_COMMANDS[name], name, rest).paths)


def _join(folder: str, path: str) -> str:
    # Nobody knows here where the home is; it is outside of every workspace that matters.
    return f"/{path}" if path.startswith("~") else posixpath.normpath(posixpath.join(folder, path))
