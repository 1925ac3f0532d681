"""What a project's settings for other agents forbid, which holds here too, unasked: it can only tighten."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from quorum.domain.errors import ConfigError
from quorum.domain.importing.foreign_rules import EVERY_TOOL, RulePlaces
from quorum.domain.importing.takeover_item import TakeoverItem
from quorum.domain.replacing import replace
from quorum.domain.review.permission_rules import Answer
from quorum.infrastructure.config.foreign.claude_settings import find_claude_rules
from quorum.infrastructure.config.foreign.codex_settings import (
    find_codex_rules,
    find_profile_limits,
    read_text_file,
)
from quorum.infrastructure.config.foreign.foreign_file import (
    ForeignFile,
    add_linked_paths,
    read_json_file,
    read_toml_file,
)
from quorum.infrastructure.config.foreign.other_settings import (
    find_copilot_rules,
    find_gemini_rules,
    find_opencode_rules,
)
from quorum.infrastructure.config.paths import CODEX_RULES, LimitingFile
from quorum.infrastructure.config.toml_file import escape_path
from quorum.infrastructure.config.toml_text import KeyPath, shorten_text

_MOST_RULES = 500
_LONGEST_LIST = 400
_SENSITIVE, _PROTECTED = ("review", "sensitive"), ("review", "protected")
_Find: TypeAlias = Callable[[ForeignFile, RulePlaces], Iterator[TakeoverItem]]
_AGENTS: Mapping[str, tuple[str, Callable[[Path], ForeignFile | None], _Find]] = {
    ".claude/settings.json": ("Claude Code", read_json_file, find_claude_rules),
    ".claude/settings.local.json": ("Claude Code", read_json_file, find_claude_rules),
    ".codex/config.toml": ("Codex", read_toml_file, find_profile_limits),
    CODEX_RULES: ("Codex", read_text_file, find_codex_rules),
    ".gemini/settings.json": ("Gemini CLI", read_json_file, find_gemini_rules),
    ".github/copilot/settings.json": ("Copilot CLI", read_json_file, find_copilot_rules),
    ".github/copilot/settings.local.json": ("Copilot CLI", read_json_file, find_copilot_rules),
    "opencode.json": ("opencode", read_json_file, find_opencode_rules),
    "opencode.jsonc": ("opencode", read_json_file, find_opencode_rules),
    ".opencode/opencode.json": ("opencode", read_json_file, find_opencode_rules),
}
_ANSWER_WORDS = {Answer.DENY: "denied", Answer.ASK: "asked about"}


class ProjectLimits(Struct, frozen=True):
    """What one file adds to lists of the settings, by their keys, and a sentence about it for the person."""

    file: Path
    added: Mapping[KeyPath, tuple[str, ...]]
    notice: str


def read_project_limits(files: Iterable[LimitingFile], environ: Mapping[str, str]) -> Iterator[ProjectLimits]:
    """The limits in these files. Blocks. A file that cannot be read has every call asked about."""
    for limiting in files:
        agent, read, find = _AGENTS[limiting.name if limiting.name in _AGENTS else CODEX_RULES]
        places = RulePlaces(folder=str(limiting.folder), home=environ.get("HOME", ""))
        try:
            file = read(limiting.path)
            found = (
                tuple(_add_linked(each, limiting) for each in find(file, places)) if file is not None else ()
            )
        except ConfigError as error:
            why = f"{error}; what it denies is not known, so every call asks until that is corrected"
            yield ProjectLimits(limiting.path, {_key(Answer.ASK): (EVERY_TOOL,)}, why)
            continue
        if (limits := _collect_limits(limiting.path, agent, found)) is not None:
            yield limits


def _add_linked(finding: TakeoverItem, limiting: LimitingFile) -> TakeoverItem:
    rule = finding.rule
    return finding if rule is None else replace(finding, rule=add_linked_paths(rule, str(limiting.folder)))


def _key(answer: Answer) -> KeyPath:
    return ("permissions", answer.value)


def _collect_limits(path: Path, agent: str, found: tuple[TakeoverItem, ...]) -> ProjectLimits | None:
    restricting = [each for each in found if each.rule is not None and each.rule.answer is not Answer.ALLOW]
    added: dict[KeyPath, list[str]] = {key: [] for key in (*map(_key, _ANSWER_WORDS), _SENSITIVE, _PROTECTED)}
    for each in restricting:
        assert each.rule is not None
        added[_key(each.rule.answer)] += each.rule.rules
        added[_SENSITIVE] += each.rule.sensitive
        added[_PROTECTED] += each.rule.protected
    if sum(map(len, added.values())) > _MOST_RULES:
        why = f"{escape_path(path)} has more than {_MOST_RULES} limits, so every call asks"
        return ProjectLimits(path, {_key(Answer.ASK): (EVERY_TOOL,)}, why)
    kept = {key: tuple(dict.fromkeys(values)) for key, values in added.items() if values}
    if not kept:
        return None
    parts = [
        f"{_ANSWER_WORDS[answer]}: {shorten_text(', '.join(kept[_key(answer)]), _LONGEST_LIST)}"
        for answer in (Answer.DENY, Answer.ASK)
        if _key(answer) in kept
    ]
    odd = [f"{each.place}: {each.there}: {each.why}" for each in restricting if _needs_word(each)]
    return ProjectLimits(
        path, kept, f"{escape_path(path)} of {agent} holds here, too; {'; '.join((*parts, *odd))}"
    )


def _needs_word(found: TakeoverItem) -> bool:
    """Whether the person should read of one rule: it became another answer than it gives there."""
    return found.rule is not None and found.rule.answer is Answer.ASK and bool(found.rule.why)
