"""Which settings of a repository keep git from being harmless where something is only looked at."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import NamedTuple

from quorum.domain.shell.git_commands import SORT_KEY
from quorum.infrastructure.execution.shell.git_index import read_regular

_LARGEST = 1 << 20
_SECTION = re.compile(r'\[(?P<name>[A-Za-z0-9.-]+)(?:[ \t]+"(?P<sub>(?:[^"\\\n]|\\.)*)")?\]')
_SETTING = re.compile(r"(?P<key>[A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=[ \t]*(?P<value>.*))?")

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
_HARMLESS_VALUES: Mapping[tuple[str, str], re.Pattern[str]] = {
    ("tag", "sort"): SORT_KEY,
    # What is in this file and is no revision is printed, so that no other file may stand in its place.
    ("blame", "ignorerevsfile"): re.compile(r"\.?(?:git)?-?(?:blame)?-?ignore(?:-?revs?)?(?:\.txt)?"),
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
_MAY_START = re.compile(
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
        if head := _SECTION.fullmatch(line):
            section = _Section.find(head["name"].lower(), is_named=head["sub"] is not None, is_shown=is_shown)
            if section is None:
                raise UnsafeRepository(f"{path} has the section {line}, which may run programs")
            continue
        setting = _SETTING.fullmatch(line)
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
        return bool({key, "*"} & self.keys) or (self.others and not _MAY_START.search(key))


def _is_harmless_value(section: str, key: str, value: str, top: str) -> bool:
    harmless = _HARMLESS_VALUES.get((section, key))
    if harmless is None:
        return True
    # A link by such a name may lead to any file.
    return bool(harmless.fullmatch(value)) and not (
        key == "ignorerevsfile" and os.path.islink(os.path.join(top, value))
    )


def read_text(path: str) -> str:
    """The content of a file of a repository. Raises UnsafeRepository where it cannot be read."""
    try:
        return read_regular(path, _LARGEST).decode()
    except (OSError, ValueError) as error:
        raise UnsafeRepository(f"{path} cannot be read: {error}") from error
