"""The rules of a session: those of the settings and the saved ones that hold in its folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from application.review.rule_book import RuleBook
from domain.review.guards import GuardSettings
from domain.review.path_policy import PathPolicy
from infrastructure.building_blocks import permission_rules
from infrastructure.config.paths import user_file
from infrastructure.config.schema import Settings
from infrastructure.execution.shell.parsing import parse
from infrastructure.permissions.file_listing import RuleFileListing
from infrastructure.permissions.rule_file import FILE_NAME, LoadedRules, RuleFile


def rule_file(environ: Mapping[str, str]) -> RuleFile | None:
    """The file of the saved rules, beside the person's own settings; None where there is no home folder."""
    own = user_file(environ)
    return RuleFile(own.with_name(FILE_NAME)) if own is not None else None


def saved_rules(file: RuleFile | None, folder: Path) -> LoadedRules:
    """The saved rules that hold in a folder. Raises ConfigError for a damaged file."""
    return file.load(folder, parse) if file is not None else LoadedRules()


def rule_book(
    settings: Settings,
    *,
    origins: Mapping[str, str],
    saved: LoadedRules,
    store: RuleFile | None,
    paths: PathPolicy,
    guards: GuardSettings,
) -> RuleBook:
    """All the rules in force. `origins` says of a setting where its value came from."""
    return RuleBook(
        permission_rules(settings, origins),
        saved=saved.rules,
        store=store,
        paths=paths,
        guards=guards,
        read_command=parse,
        list_files=RuleFileListing(tuple(map(Path, paths.roots))),
    )
