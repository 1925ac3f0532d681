"""A git worktree in which a tab works, what it changed, and what would be lost with it."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from quorum.domain.review.path_policy import is_git_folder_name
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.pattern import compile_once

_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}"
_LINK = r"[A-Za-z0-9._@+-]{1,80}(?:/[A-Za-z0-9._@+-]{1,80}){0,9}"
BRANCH_PREFIX = "quorum/"
RESERVED_WORDS = ("diff", "merge", "drop")
"""What `/worktree` takes for something to do, so that no worktree can be called so."""


class Worktree(Struct, frozen=True, kw_only=True):
    """A worktree that quorum made: `folder` is its place, `branch` its own branch, which began at the commit
    `base` of the branch `onto`."""

    name: str
    folder: str
    branch: str
    base: str
    onto: str


class OpenedWorktree(Struct, frozen=True, kw_only=True):
    """A worktree to work in. `folder` is the one in it that stands for the folder it was opened from; `is_new`:
    it was not there before; `is_checked_out`: its files were written just now, so that none that git ignores
    are there; `notices` are sentences about what it lacks."""

    worktree: Worktree
    folder: Path
    is_new: bool
    is_checked_out: bool = False
    notices: tuple[str, ...] = ()


class WorktreeSetup(Struct, frozen=True, kw_only=True):
    """What a worktree was given of what git ignores: sentences about the links in it, and the `command` that is
    still to run in it; empty where there is none."""

    notices: tuple[str, ...] = ()
    command: str = ""


class LinksProposal(Struct, frozen=True, kw_only=True):
    """What would link `folders`, which a new worktree lacks, to those of the main working tree `source`: the
    `lines` that change in the person's `file` of settings. `is_new`: there is no such file yet."""

    folders: tuple[str, ...]
    source: str
    file: str
    is_new: bool
    lines: tuple[str, ...]


class WorktreeLoss(Struct, frozen=True, kw_only=True):
    """What of a worktree is in no other place: `commits` that the branch it began at does not have, and `files`
    that are not committed."""

    commits: int = 0
    files: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        """How much that is, in words; empty where it is nothing."""
        parts = []
        if self.commits:
            parts.append(format_amount(self.commits, "commit"))
        if self.files:
            parts.append(f"{format_amount(len(self.files), 'file')} not committed")
        return " and ".join(parts)


class WorktreeChange(Struct, frozen=True, kw_only=True):
    """What a merge of a worktree would bring to the branch it began at, whose files lie in `target`.

    `diff` is against the commit at which both part, `files` that are not committed included. `obstacle` says
    why it cannot be merged as things are, and what helps; empty where nothing stands in the way.
    """

    worktree: Worktree
    target: str
    diff: str
    brings: WorktreeLoss
    obstacle: str = ""

    @property
    def digest(self) -> str:
        """The SHA-256 of the diff and of where it goes: an approval of one is none of another."""
        text = "\0".join((self.worktree.branch, self.worktree.onto, self.target, self.diff))
        return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


_LONGEST_SUBJECT = 72
_ADDRESSED = (
    r"(?i)(?:(?:hi|hello|hey|ok|okay|so|now|then|and|please|pls|just|also|kindly|let'?s|let us|"
    r"(?:can|could|will|would) (?:you|we)|(?:i|we)(?: want| need|'d like| would like)(?: you)? to|"
    r"you (?:should|must|can|need to)|try to|go ahead and|help me)\b[ ,:]*)+"
)
_IMPERATIVES = (
    r"(?i)(?:add|adapt|adjust|allow|apply|avoid|bump|cache|catch|change|clean|convert|correct|cover|create|delete|"
    r"disable|document|drop|enable|ensure|escape|extend|extract|fix|format|generate|give|handle|hide|ignore|"
    r"implement|improve|increase|inline|introduce|keep|let|limit|link|lower|make|merge|migrate|move|normali[sz]e|"
    r"optimi[sz]e|parse|port|prevent|print|raise|reduce|refactor|reject|remove|rename|render|replace|report|require|"
    r"restore|return|reuse|revert|rewrite|set|shorten|show|simplify|skip|sort|speed|split|stop|store|support|swap|"
    r"switch|test|trim|turn|unify|update|upgrade|use|validate|warn|write) "
)


def describe_change(prompt: str, diff: str) -> str:
    """A sentence about a change for a commit, with the `prompt` it began with: that in the imperative, where it
    is such a sentence; else what became of the files."""
    said = compile_once(_ADDRESSED).sub("", " ".join(prompt.split()), count=1) if prompt else ""
    said = re.split(r"(?<=[^.\s][.!;])\s|[,;]? (?:and )?then\b", said, maxsplit=1)[0].rstrip(" .,;:!")
    is_plain = compile_once(_IMPERATIVES).match(said) and not re.search(r"[?`@\"<>{}|…]|https?:", said)
    if is_plain and len(said) <= _LONGEST_SUBJECT:
        return said[:1].upper() + said[1:]
    return _describe_changed_files(diff)


def _describe_changed_files(diff: str) -> str:
    """What a diff of git does to files: `Add b.py and change a.py`; empty of an empty one."""
    changed: dict[str, list[str]] = {"add": [], "change": [], "rename": [], "delete": []}
    for part in re.split(r"^diff --git ", diff, flags=re.MULTILINE)[1:]:
        head = part.split("\n@@", 1)[0]
        name = head.split("\n", 1)[0].rpartition(" b/")[2].rstrip('"')
        found = re.search(r"^(new file|deleted file|rename)", head, flags=re.MULTILINE)
        verb = {"new file": "add", "deleted file": "delete", "rename": "rename"}.get(found[1] if found else "")
        changed[verb or "change"].append(name)
    phrases = [_name_changed(verb, names) for verb, names in changed.items() if names]
    sentence = ", ".join(phrases[:-1]) + (" and " if phrases[1:] else "") + "".join(phrases[-1:])
    return sentence[:1].upper() + sentence[1:]


def _name_changed(verb: str, names: list[str]) -> str:
    """The files that something became of, by name where these are few and short."""
    listed = " and ".join(names)
    return f"{verb} {listed if len(names) <= 2 and len(listed) <= 40 else format_amount(len(names), 'file')}"


def explain_unfit_link(name: str) -> str | None:
    """Why no link in a worktree can have this name, the path of a folder from the top; None where one can."""
    parts = name.split("/")
    if name.startswith(("/", "~")):
        return f"{name!a} must be a path from the top of the repository, for example .venv"
    if ".." in parts:
        return f"{name!a} leads out of the repository; name a folder in it"
    if compile_once(_LINK).fullmatch(name) is None or "." in parts or any(map(is_git_folder_name, parts)):
        return f"{name!a} cannot be linked; name a folder by letters, digits and ._@+- such as .venv"
    return None


def is_worktree_name(name: str) -> bool:
    """Whether a name is of letters, digits, `_` and `-`, at most 40 characters, and no word of `/worktree`."""
    return compile_once(_NAME).fullmatch(name) is not None and name not in RESERVED_WORDS
