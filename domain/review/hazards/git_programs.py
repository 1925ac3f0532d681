"""Programs that git starts because a setting or a variable names them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from quorum.domain.review.hazards.invocation import Invocation
from quorum.domain.review.hazards.places import belongs_to_system, normalize
from quorum.domain.review.objection import Objection

# git-config(1) 2.39: settings whose value is a program, or a place that programs are taken from.
_SETTING = re.compile(
    r"(?i)core\.(pager|editor|sshcommand|fsmonitor|askpass|hookspath|gitproxy|alternaterefscommand)|sequence\.editor"
    r"|diff\.external|diff\..*\.(command|textconv)|filter\..*\.(clean|smudge|process)|merge\..*\.driver"
    r"|(diff|merge|gui)tool\..*\.(cmd|path)|(browser|man)\..*\.(cmd|path)|web\.browser|credential\.(.*\.)?helper"
    r"|pager\..*|alias\..*|gpg\.(.*\.)?program|gpg\.ssh\.defaultkeycommand|init\.templatedir|include(if\..*)?\.path"
    r"|uploadpack\.packobjectshook|remote\..*\.(uploadpack|receivepack|vcs)|interactive\.difffilter"
    r"|trailer\..*\.(command|cmd)|submodule\..*\.update|tar\..*\.command|sendemail\..*(cmd|server)"
)
_VARIABLE = re.compile(
    r"GIT_(EXTERNAL_DIFF|SSH|SSH_COMMAND|EDITOR|SEQUENCE_EDITOR|PAGER|ASKPASS|PROXY_COMMAND|EXEC_PATH|TEMPLATE_DIR"
    r"|CONFIG|CONFIG_GLOBAL|CONFIG_SYSTEM|CONFIG_PARAMETERS)|SSH_ASKPASS"
)
_REPOSITORY = re.compile(r"GIT_(DIR|COMMON_DIR)")
_OPEN_FOLDERS = re.compile(r"(/var)?/tmp/|/dev/shm/|/private/tmp/")
"""Git asks whose a repository is, but not where it is told to use one."""
_KEY_VARIABLE = re.compile(r"GIT_CONFIG_KEY_\d+")
# What these run in turn is seen by their own words.
_USUAL = frozenset(
    {
        *(
            "",
            ":",
            "true",
            "false",
            "cat",
            "less",
            "more",
            "bat",
            "delta",
            "difft",
            "ssh",
            "gpg",
            "gpg2",
            "/dev/null",
        ),
        *(
            "vi",
            "vim",
            "nvim",
            "nano",
            "emacs",
            "code",
            "sed",
            "echo",
            "cache",
            "store",
            "manager",
            "osxkeychain",
        ),
    }
)


def list_git_programs(run: Invocation) -> Iterator[Objection]:
    """What options of a git command have it start."""
    if run.program != "git":
        return
    for setting in run.find_values("-c", "--config"):
        name, _, value = setting.partition("=")
        if _SETTING.fullmatch(name) and not _is_usual(name, value):
            yield _object_to(name)
    for setting in run.find_values("--config-env"):
        name = setting.partition("=")[0]
        if _SETTING.fullmatch(name):
            yield _object_to(name)
    if any(run.find_values("--exec-path")):
        yield _object_to("--exec-path")
    if any(map(_OPEN_FOLDERS.match, run.find_values("--git-dir"))):
        yield _object_to("--git-dir")
    for place in run.find_values("--work-tree"):
        yield from _list_changed_trees(place)


def list_git_programs_of_variable(assignment: str) -> Iterator[Objection]:
    """What a variable has git start.

    A setting that a variable names is judged by its name alone, since its value stands in another one.
    """
    name, _, value = assignment.partition("=")
    value = value.strip("'\"")
    if name == "GIT_WORK_TREE":
        yield from _list_changed_trees(value)
    is_started = _VARIABLE.fullmatch(name) and not _is_usual(name, value)
    is_elsewhere = _REPOSITORY.fullmatch(name) and _OPEN_FOLDERS.match(value)
    is_setting = _KEY_VARIABLE.fullmatch(name) and ("$" in value or "`" in value or _SETTING.fullmatch(value))
    if is_started or is_elsewhere or is_setting:
        yield _object_to(name)


def _list_changed_trees(place: str) -> Iterator[Objection]:
    if normalize(place).rstrip("/") in ("", "~") or belongs_to_system(place):
        yield Objection("path", f"git: it works on the files of {place} as if they were a repository's")


def _is_usual(name: str, value: str) -> bool:
    if name.lower().startswith("alias.") and not value.startswith("!"):
        return True
    return (value.split() or [""])[0] in _USUAL


def _object_to(name: str) -> Objection:
    return Objection("persistence", f"{name}: it has git run something")
