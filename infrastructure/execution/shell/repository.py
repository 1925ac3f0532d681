"""Whether git can look at a repository without running anything of it, and which git settings hold secrets.

Tokens stand in addresses, in headers, in options of helpers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from quorum.domain.review.path_policy import is_git_folder_name
from quorum.domain.shell.git_commands import GIT_ENVIRONMENT, SORT_KEY
from quorum.domain.text.pattern import compile_once
from quorum.infrastructure.execution.shell.git_index import IndexSummary, read_index, read_regular
from quorum.infrastructure.files.workspace import escape_path

_LARGEST = 1 << 20
_SECTION = r'\[(?P<name>[A-Za-z0-9.-]+)(?:[ \t]+"(?P<sub>(?:[^"\\\n]|\\.)*)")?\]'
_SETTING = r"(?P<key>[A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=[ \t]*(?P<value>.*))?"

# Settings that name no program, no file to include and no other place to read: all else is asked about.
_HARMLESS_TEXT = """
core: repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol
    safecrlf quotepath abbrev protecthfs protectntfs compression bigfilethreshold untrackedcache preloadindex
    longpaths checkstat trustctime hidedotfiles fscache
extensions: refstorage worktreeconfig
remote: url pushurl fetch push tagopt prune mirror gh-resolved
branch: remote merge rebase pushremote description quorumbase quorumonto vscode-merge-base gh-merge-base
    github-pr-owner-number
user: name email signingkey useconfigonly
submodule: url active branch
lfs: repositoryformatversion access locksverify
diff: renames renamelimit algorithm mnemonicprefix noprefix colormoved
init: defaultbranch
pull: rebase ff
push: default autosetupremote followtags
fetch: prune prunetags parallel
merge: conflictstyle ff renames
rebase: autostash autosquash updaterefs
rerere: enabled autoupdate
commit: gpgsign verbose
tag: gpgsign sort
gc: auto autodetach
color: *
advice: *
"""
# Settings that run nothing where something is only looked at: what they name is switched off for each command,
# or used for other commands only. Unlike those above they may hold tokens, or make something else be shown.
_UNUSED_TEXT = """
core: hookspath fsmonitor editor commitgraph multipackindex sparsecheckout sparsecheckoutcone whitespace
    sharedrepository loosecompression packedgitlimit deltabasecachelimit commentchar
extensions: partialclone
branch: mergeoptions
remote: promisor partialclonefilter
submodule: ignore fetchrecursesubmodules
alias: *
column: *
commit: template status
gpg: format mintrustlevel
help: *
blame: showroot blankboundary date showemail coloring markunblamablelines markignoredlines ignorerevsfile
credential: *
feature: *
http: *
https: *
log: date decorate abbrevcommit showroot showsignature
maintenance: *
merge: name driver recursive tool guitool
pull: *
push: *
fetch: *
status: showuntrackedfiles short branch
url: insteadof pushinsteadof
am: *
difftool: *
gitcvs: *
gitweb: *
gui: *
guitool: *
imap: *
instaweb: *
lfs: *
mergetool: *
safe: *
sendemail: *
svn: *
svn-remote: *
"""
# Settings that are harmless with these values only.
_HARMLESS_VALUES: Mapping[tuple[str, str], str] = {
    ("tag", "sort"): SORT_KEY,
    # What is in this file and is no revision is printed, so that no other file may stand in its place.
    ("blame", "ignorerevsfile"): r"\.?(?:git)?-?(?:blame)?-?ignore(?:-?revs?)?(?:\.txt)?",
}
# In all others a name in quotes is what makes a driver, a filter or a condition.
_NAMED = frozenset({"remote", "branch", "submodule", "lfs", "color"})
_NAMED_UNUSED = _NAMED | {"credential", "http", "https", "url", "merge", "difftool", "mergetool"}
_NAMED_UNUSED |= {"gitcvs", "guitool", "svn", "svn-remote", "sendemail"}
# The sections that git reads, or a program that comes with it: what is not named above is asked about there.
_READ_BY_GIT_TEXT = """
add advice alias am apply archive attr author bitmappseudomerge blame branch browser bundle checkout clean clone
color column commit commitgraph committer completion core credential credentialcache cvs cvsexportcommit
cvsimport diff difftool extensions fastimport feature fetch filter fmt-merge-msg format fsck fsmonitor gc
git-p4 gitcvs gitweb gpg grep gui guitool gvfs help hook http https i18n imap include includeif index init
instaweb interactive log ls-refs lsrefs mailinfo mailmap maintenance man merge mergetool notes odb pack
pager patchid pathspec pretty promisor protocol pull push rebase receive ref reflog reftable remote remotes
repack replay rerere reset revert safe scalar sendemail sendpack sequence sequencer showbranch
show-branch sparse splitindex ssh stash status submodule survey svn svn-remote switch tag tar test tgz trace
trace2 trailer transfer uploadarchive uploadpack uploadpackfilter url user versionsort web worktree
"""
_READ_BY_GIT = frozenset(_READ_BY_GIT_TEXT.split())
# In these it reads the keys named above only; editors and services note theirs beside them.
_SHARED = frozenset({"branch"})
# Sections of other programs, whatever stands in them.
_OF_OTHERS = frozenset({"gitflow", "gitlens", "codespace", "codespaces", "dvc"})
# Of programs that are not known, and of git to come: names of keys that may name something to start or to read.
_MAY_START = (
    "cmd|command|program|exec|hook|helper|editor|pager|driver|process|filter|textconv|tool|include|script|shell"
    "|askpass|proxy|path|file|dir"
)


def _parse_table(text: str) -> Mapping[str, frozenset[str]]:
    entries = re.findall(r"^([\w-]+):((?:.*\n)(?:    .*\n)*)", text, re.MULTILINE)
    return {section: frozenset(keys.split()) for section, keys in entries}


_HARMLESS = _parse_table(_HARMLESS_TEXT)
_UNUSED = _parse_table(_UNUSED_TEXT)


class UnsafeRepository(Exception):
    """Something in the repository keeps git from being harmless. The text says what and where."""


def require_harmless_settings(path: str, top: str = "", *, is_shown: bool = False) -> None:
    """Raises UnsafeRepository where a file of settings has one that is not known to be harmless.

    `top` is the working tree. `is_shown` asks for more: that no token stands in any of them either.
    """
    section = None
    for line in read_text(path).split("\n"):
        line = line.strip(" \t\r")
        if not line or line[0] in "#;":
            continue
        if head := compile_once(_SECTION).fullmatch(line):
            section = _Section.find(head["name"].lower(), is_named=head["sub"] is not None, is_shown=is_shown)
            if section is None:
                raise UnsafeRepository(f"{path} has the section {line}, which may run programs")
            continue
        setting = compile_once(_SETTING).fullmatch(line)
        # A line that continues in the next would hide what that one says.
        if (
            section is None
            or setting is None
            or line.endswith("\\")
            or not section.allows(setting["key"].lower())
            or not _is_harmless_value(section.name, setting["key"].lower(), setting["value"] or "", top)
        ):
            raise UnsafeRepository(
                f"{path} has the setting {line.split('=')[0].strip()}, which may run programs"
            )


class _Section(NamedTuple):
    """A section that may stand there: its harmless keys, and whether `others` are whose names say so."""

    name: str
    keys: frozenset[str]
    others: bool

    @classmethod
    def find(cls, name: str, *, is_named: bool, is_shown: bool) -> _Section | None:
        """The section of this name, with a further one in quotes or without; None where it may be dangerous."""
        if is_shown:
            keys, named, others = _HARMLESS.get(name, frozenset()), _NAMED, False
        else:
            keys = _HARMLESS.get(name, frozenset()) | _UNUSED.get(name, frozenset())
            named = _NAMED_UNUSED
            others = name in _SHARED or name not in _READ_BY_GIT
        if name in _OF_OTHERS and not is_shown:
            keys = frozenset({"*"})
        # A name with a dot is one with another in quotes, as git once wrote them.
        if "." in name or not (keys or others) or (is_named and name in _READ_BY_GIT and name not in named):
            return None
        return cls(name, keys, others)

    def allows(self, key: str) -> bool:
        """Whether a key of it is harmless."""
        return bool({key, "*"} & self.keys) or (self.others and not compile_once(_MAY_START).search(key))


def _is_harmless_value(section: str, key: str, value: str, top: str) -> bool:
    harmless = _HARMLESS_VALUES.get((section, key))
    if harmless is None:
        return True
    # A link by such a name may lead to any file.
    return bool(compile_once(harmless).fullmatch(value)) and not (
        key == "ignorerevsfile" and os.path.islink(os.path.join(top, value))
    )


def read_text(path: str) -> str:
    """The content of a file of a repository. Raises UnsafeRepository where it cannot be read."""
    try:
        return read_regular(path, _LARGEST).decode()
    except (OSError, ValueError) as error:
        raise UnsafeRepository(f"{path} cannot be read: {error}") from error


_HEAD = r"(?:ref: refs/[^\s\0]+|[0-9a-f]{40}|[0-9a-f]{64})\n?"
# Of a repository's own folder, not read where only something is looked at, unless a revision is called like a
# file in it: hooks are switched off, submodules not entered, and the other two belong to other programs. In all
# of these links are usual.
_NOT_READ = frozenset({"hooks", "modules", "annex", "lfs"})
_MONITOR = "fsmonitor--daemon.ipc"
_MOST_ENTRIES = 200_000


class Repository(Struct, frozen=True):
    """A repository whose settings are known to run nothing.

    `top` is its working tree, `shared` what linked working trees have in common, objects and settings among it;
    usually that is `git_folder` itself.
    """

    top: str
    git_folder: str
    shared: str

    def require_own_state(self, named: frozenset[str] = frozenset()) -> None:
        """Raises UnsafeRepository where git would read another place for this repository.

        Git shows objects, and the state of merges, rebases and branches, as it finds them in the repository's
        folder, and follows links there. Looks at the names of all files in it, also in folders that are only
        read where they are `named`.
        """
        marker = os.path.join(self.top, ".git")
        is_own = self.shared == marker and not os.path.islink(marker)
        if not is_own and not self._is_linked_from(marker):
            raise UnsafeRepository(f"{marker} leads to a repository elsewhere, which git would show")
        for number, entry in enumerate(self._list_state(_NOT_READ - named)):
            if number == _MOST_ENTRIES:
                raise UnsafeRepository(f"{self.shared} has too many files to look through")
            _require_own(entry)
            if entry.name == "commondir" and _find_shared_folder(os.path.dirname(entry.path)) != self.shared:
                raise UnsafeRepository(f"{entry.path} leads to a repository elsewhere, which git would show")
        alternates = os.path.join(self.shared, "objects", "info", "alternates")
        if os.path.lexists(alternates):
            raise UnsafeRepository(f"{alternates} names another repository, which git may show")

    def _list_state(self, passed_by: frozenset[str]) -> Iterator[os.DirEntry[str]]:
        """All that is in the repository's folder, as far as git reads it where it only looks."""
        folders = {self.shared, self.git_folder}
        while folders:
            folder = folders.pop()
            with os.scandir(folder) as entries:
                for entry in entries:
                    if folder == self.shared and entry.name in passed_by:
                        continue
                    yield entry
                    if entry.is_dir(follow_symlinks=False):
                        folders.add(entry.path)

    def _is_linked_from(self, marker: str) -> bool:
        """Whether the repository knows the working tree as its own: no file in the tree can feign that."""
        if os.path.dirname(self.git_folder) != os.path.join(self.shared, "worktrees"):
            return False
        back = read_text(os.path.join(self.git_folder, "gitdir")).rstrip("\r\n")
        return os.path.realpath(os.path.join(self.git_folder, back)) == marker

    def require_no_linked_folders(self, files: Iterable[str]) -> None:
        """Raises UnsafeRepository where a folder of tracked files is now a link: git may follow it."""
        folders: set[str] = set()
        for file in files:
            while (file := file.rpartition("/")[0]) and file not in folders:
                folders.add(file)
        paths = (os.path.join(self.top, folder) for folder in sorted(folders))
        if linked := next((path for path in paths if os.path.islink(path)), None):
            raise UnsafeRepository(f"git may read files behind the symbolic link {linked}")

    def read_index(self) -> IndexSummary:
        """What its index names. Raises UnsafeRepository where that cannot be read."""
        path = os.path.join(self.git_folder, "index")
        try:
            return read_index(path)
        except FileNotFoundError:
            return IndexSummary((), ())
        except (OSError, ValueError) as error:
            raise UnsafeRepository(f"{path} cannot be read: {error}") from error


# By these git finds the person's settings, as it does where it runs as a command.
_VARIABLES = ("HOME", "PATH", "XDG_CONFIG_HOME")
_LISTING_SECS = 5
_LONGEST_REASON = 200


def run_git_listing(program: str, words: Sequence[str], folder: str, given: Sequence[str] = ()) -> list[str]:
    """What a git command lists, between zeros or line by line, about `given` where it reads that.

    For commands that show no contents, in a harmless repository. Raises UnsafeRepository where it fails.
    """
    import subprocess

    kept = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    try:
        done = subprocess.run(
            (program, *words),
            cwd=folder,
            env={**kept, **GIT_ENVIRONMENT},
            input=os.fsencode("".join(f"{line}\n" for line in given)),
            capture_output=True,
            timeout=_LISTING_SECS,
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise UnsafeRepository("git takes too long to list the files that it would show") from None
    except subprocess.CalledProcessError as error:
        why = error.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2][:_LONGEST_REASON]
        raise UnsafeRepository(f"git cannot list the files that it would show: {escape_path(why)}") from error
    return list(filter(None, re.split("[\0\n]", os.fsdecode(done.stdout))))


def list_named_folders(words: Iterable[str]) -> frozenset[str]:
    """The folders of a repository that words may name a file of: git takes any such file for a revision."""
    return frozenset(name for name in _NOT_READ if any(f"{name}/" in word.casefold() for word in words))


def find_repository(folder: str) -> Repository | None:
    """The repository that git would use in a folder, or None. Raises UnsafeRepository.

    Every repository on the way up is looked at, so that it does not matter which of them git takes.
    """
    found = None
    for place in _list_parents(folder):
        marker = os.path.join(place, ".git")
        if os.path.lexists(marker):
            git_folder = _find_git_folder(marker)
            shared = _find_shared_folder(git_folder)
            _require_harmless(git_folder, shared, place)
            if found is None:
                _require_whole(git_folder, shared)
                found = Repository(place, git_folder, shared)
        if _holds(place, "HEAD") and (_holds(place, "commondir") or _holds(place, "objects", "refs")):
            raise UnsafeRepository(f"{place} looks like a bare repository, or the inside of one")
    return found


def _list_parents(folder: str) -> Iterator[str]:
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def _find_git_folder(marker: str) -> str:
    """The folder behind a `.git`, which for linked working trees is a file that names it."""
    if os.path.isdir(marker):
        return marker
    text = read_text(marker)
    if not text.startswith("gitdir: "):
        raise UnsafeRepository(f"{marker} is not a repository")
    return os.path.realpath(os.path.join(os.path.dirname(marker), text[len("gitdir: ") :].rstrip("\r\n")))


def _find_shared_folder(git_folder: str) -> str:
    common = os.path.join(git_folder, "commondir")
    if not os.path.lexists(common):
        return git_folder
    return os.path.realpath(os.path.join(git_folder, read_text(common).rstrip("\r\n")))


def _require_own(entry: os.DirEntry[str]) -> None:
    if entry.is_symlink():
        raise UnsafeRepository(f"{entry.path} is a symbolic link, by which git may show what lies elsewhere")
    is_plain = entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)
    # Reading a pipe waits for whoever writes it; the socket of git's own monitor is not read.
    if not is_plain and entry.name != _MONITOR:
        raise UnsafeRepository(f"{entry.path} is not a regular file, and git may wait for it")


def _holds(folder: str, *names: str) -> bool:
    return all(os.path.lexists(os.path.join(folder, name)) for name in names)


def _require_whole(git_folder: str, shared: str) -> None:
    """Git passes over what it does not take for a repository, and uses one above it. This is no less strict."""
    head = os.path.join(git_folder, "HEAD")
    folders = [os.path.join(shared, name) for name in ("objects", "refs")]
    is_whole = all(os.path.isdir(folder) and os.access(folder, os.X_OK) for folder in folders)
    if not is_whole or os.path.islink(head) or not compile_once(_HEAD).fullmatch(read_text(head)):
        raise UnsafeRepository(f"{git_folder} is not a whole repository, and git may use another one above it")


def _require_harmless(git_folder: str, shared: str, top: str) -> None:
    for path in {os.path.join(shared, "config"), os.path.join(git_folder, "config.worktree")}:
        if os.path.lexists(path):
            require_harmless_settings(path, top)


# Copies and linked working trees have theirs: config.worktree, config.lock, config~.
_SETTINGS = "config"
_OF_PERSON = ".gitconfig"
_NAMES = (_SETTINGS, _OF_PERSON)
_INCLUDES = re.compile(rb"^\s*\[\s*include", re.IGNORECASE | re.MULTILINE)
# A name or a token in front of the host, or a query behind it. With ssh a name alone is no secret.
_SIGNS_IN = re.compile(rb'(?<!ssh)://[^/\s"]*@|://[^/\s"@]*:[^/\s"@]*@|://\S*\?')


def may_be_git_settings(name: str) -> bool:
    """Whether a file of this name may hold settings of git. Quick: every file of a search is asked about."""
    return name.casefold().startswith(_NAMES)


def is_git_settings(path: str) -> bool:
    """Whether a file is called, and lies, like one that holds settings of git."""
    folder, name = os.path.split(path)
    name = name.casefold()
    if name.startswith(_OF_PERSON):
        return True
    if not name.startswith(_SETTINGS):
        return False
    above = folder.split(os.sep)
    if above[-2:] == [".config", "git"] or any(_is_repository_name(each) for each in above):
        return True
    return all(os.path.lexists(os.path.join(folder, each)) for each in ("HEAD", "objects"))


def may_hold_secret(settings: str) -> bool:
    """Whether a file of settings holds more than what is known to sign in nowhere.

    Raises OSError and ValueError where it cannot be read.
    """
    if _SIGNS_IN.search(read_regular(settings, _LARGEST)):
        return True
    try:
        require_harmless_settings(settings, is_shown=True)
    except UnsafeRepository:
        return True
    return False


def is_secret_settings(path: str) -> bool:
    """Whether a file is settings of git in which a token may stand; what cannot be read may hold anything."""
    if not (may_be_git_settings(os.path.basename(path)) and is_git_settings(path) and os.path.isfile(path)):
        return False
    try:
        return may_hold_secret(path)
    except (OSError, ValueError):
        return True


def read_sign_in_settings(repository: Repository) -> str | None:
    """The settings by which addresses of remotes may hold a token, as git shows them; None where none do.

    Raises OSError and ValueError where they cannot be read.
    """
    own = (
        os.path.join(repository.shared, "config"),
        os.path.join(repository.git_folder, "config.worktree"),
    )
    for settings in filter(os.path.lexists, (*own, *list_person_settings())):
        text = read_regular(settings, _LARGEST)
        # An included file may rewrite addresses, and is not looked for.
        if _SIGNS_IN.search(text) or _INCLUDES.search(text):
            return settings
    return None


def _is_repository_name(name: str) -> bool:
    return is_git_folder_name(name) or name.casefold().endswith(".git")


def list_person_folders() -> tuple[str, ...]:
    """The folders of the person's settings that may count; git takes one, ripgrep another."""
    folders = (os.environ.get("XDG_CONFIG_HOME", ""), os.path.join(os.path.expanduser("~"), ".config"))
    return tuple(os.path.join(folder, "git") for folder in dict.fromkeys(folders) if folder)


def list_person_settings() -> tuple[str, ...]:
    """The files of git's settings for the person and the machine; some of them may not exist."""
    return (
        "/etc/gitconfig",
        os.path.join(os.path.expanduser("~"), ".gitconfig"),
        *(os.path.join(folder, "config") for folder in list_person_folders()),
    )
