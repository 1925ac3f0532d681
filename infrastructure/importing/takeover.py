"""Reads the setups of other agents, and writes what is taken over: rules first, then settings, then files.

What is here already stays as it is.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from quorum.domain.importing.foreign_session import AgentSetup, TakeoverItem
from quorum.domain.replacing import replace
from quorum.domain.review.path_policy import PROTECTED, SENSITIVE
from quorum.domain.review.permission_rules import Answer, Rule, SavedRule
from quorum.domain.settings import DEFAULTS_ENTRY
from quorum.infrastructure.config.config_file import ConfigFile
from quorum.infrastructure.config.foreign_file import add_linked_paths
from quorum.infrastructure.config.paths import is_present
from quorum.infrastructure.config.toml_file import TomlFile, escape_path
from quorum.infrastructure.config.toml_text import KeyPath
from quorum.infrastructure.importing.claude import read_claude
from quorum.infrastructure.importing.codex import read_codex
from quorum.infrastructure.importing.other_agents import read_copilot, read_gemini, read_kimi, read_opencode
from quorum.infrastructure.importing.places import ImportPlaces
from quorum.infrastructure.permissions.rule_file import RuleFile

READERS: Mapping[str, Callable[[ImportPlaces], AgentSetup]] = {
    "claude": read_claude,
    "codex": read_codex,
    "gemini": read_gemini,
    "copilot": read_copilot,
    "opencode": read_opencode,
    "kimi": read_kimi,
}
"""What reads the things of an agent, by its name on the command line."""


def read_setups(names: Iterable[str], places: ImportPlaces) -> list[AgentSetup]:
    """What is found of these agents. Of two things that would become one here the first is taken. Blocks."""
    taken: dict[str, str] = {}
    setups: list[AgentSetup] = []
    for setup in (READERS[name](places) for name in names):
        findings = tuple(_settle(finding, setup.agent, taken) for finding in setup.findings)
        if findings or setup.problems:
            setups.append(replace(setup, findings=findings))
    return setups


def _settle(finding: TakeoverItem, agent: str, taken: dict[str, str]) -> TakeoverItem:
    if finding.rule is not None:
        rule = add_linked_paths(finding.rule, finding.project or "")
        here = ", ".join(f"{rule.answer} {text}" for text in rule.rules)
        finding = replace(finding, rule=rule, here=here)
    for name in (finding.target, *finding.server):
        if name and (first := taken.setdefault(name, agent)) != agent:
            why = f"not taken over: that of {first} is taken"
            return replace(finding, here="", why=why, server={}, source="", target="")
    return finding


_LISTS = {"sensitive": SENSITIVE, "protected": PROTECTED}


class TakeoverReport(Struct, frozen=True, kw_only=True):
    """How much was written. `problems` are sentences about what could not be."""

    rules: int = 0
    servers: int = 0
    hooks: int = 0
    files: int = 0
    problems: tuple[str, ...] = ()


def take_over(findings: Sequence[TakeoverItem], *, rules: RuleFile, settings: ConfigFile) -> TakeoverReport:
    """Write all of it; done again, nothing changes. Blocks. Raises ConfigError for files of ours that cannot
    be changed; what was written before that stays, denials first."""
    new = select_new_rules(findings, rules)
    if new:
        rules.save_all(new)
    servers = {name: values for each in findings for name, values in each.server.items()}
    values: dict[KeyPath, object] = {
        ("mcp", "servers", name, key): value
        for name, table in servers.items()
        if isinstance(table, dict)
        for key, value in table.items()
    }
    for name, paths in list_new_paths(findings, settings.path).items():
        values["review", name] = [*_read_list(settings.path, name), *paths]
    if values:
        settings.set_all(values, seen=settings.preview(values))
    hooks = [each.hook for each in findings if each.hook]
    if hooks:
        settings.append_tables("hooks", hooks)
    files, problems = _copy_files(each for each in findings if each.target)
    return TakeoverReport(
        rules=len(new), servers=len(servers), hooks=len(hooks), files=files, problems=tuple(problems)
    )


def select_new_rules(findings: Iterable[TakeoverItem], file: RuleFile) -> list[SavedRule]:
    """The rules that are not saved yet, denials first."""
    present = [placed.saved for placed in file.read_rules()]
    now = datetime.now(UTC).isoformat(timespec="seconds")
    new: list[SavedRule] = []
    for each in findings:
        for text in each.rule.rules if each.rule is not None else ():
            assert each.rule is not None
            rule = SavedRule(
                rule=Rule.parse(text, each.rule.answer, each.place), project=each.project, saved=now
            )
            if not any(rule.is_like(other) for other in (*present, *new)):
                new.append(rule)
    order = (Answer.DENY, Answer.ASK, Answer.ALLOW)
    return sorted(new, key=lambda saved: order.index(saved.rule.answer))


def list_new_paths(findings: Iterable[TakeoverItem], file: Path) -> Mapping[str, Sequence[str]]:
    """What the lists of paths of `[review]` in the person's own file get, by their names. Blocks. Raises
    ConfigError."""
    rules = [each.rule for each in findings if each.rule is not None]
    found: dict[str, Sequence[str]] = {}
    for name, usual in _LISTS.items():
        listed = _read_list(file, name)
        present = {*listed, *(usual if DEFAULTS_ENTRY in listed else ())}
        denied = dict.fromkeys(path for rule in rules for path in getattr(rule, name))
        if new := [path for path in denied if path not in present]:
            found[name] = new
    return found


def _read_list(path: Path, name: str) -> Sequence[str]:
    """The list in the file; the entry for the usual one where it has none."""
    review = TomlFile.read(path).data.get("review") if is_present(path) else None
    given = review.get(name) if isinstance(review, dict) else None
    return given if isinstance(given, list) else [DEFAULTS_ENTRY]


def _copy_files(findings: Iterable[TakeoverItem]) -> tuple[int, list[str]]:
    """Copy files and folders to where nothing is yet: how many, and why others could not be."""
    copied, problems = 0, list[str]()
    for each in findings:
        source, target = Path(each.source), Path(each.target)
        try:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if os.path.lexists(target):
                raise FileExistsError(17, "something is there by now")
            _copy(source, target)
            copied += 1
        except OSError as error:
            problems.append(f"{escape_path(source)} is not copied to {escape_path(target)}: {error.strerror}")
    return copied, problems


def _copy(source: Path, target: Path) -> None:
    """Have there be all of it or nothing, whenever this ends."""
    with TemporaryDirectory(prefix=".import-", dir=target.parent) as folder:
        copy = Path(folder) / target.name
        if source.is_dir():
            shutil.copytree(source, copy, symlinks=True)
        else:
            shutil.copyfile(source, copy)
        copy.rename(target)
