"""The commented reference: every setting, commented out at its default, with its explanation above it."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from quorum.domain.errors import ConfigError
from quorum.infrastructure.config.about import ProjectRule
from quorum.infrastructure.config.keys import ANY_NAME, Key, Table, load_schema_tree
from quorum.infrastructure.config.loading import list_setting_values
from quorum.infrastructure.config.paths import is_present
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.config.toml_file import escape_path
from quorum.infrastructure.config.toml_text import KeyPath, format_key, format_literal

_WIDTH = 100
_PREAMBLE = """\
All settings of quorum, commented out at their defaults. A line that starts with one # is a
setting: remove the # to change it. `quorum config init` writes this file to your own
configuration folder, and `quorum config check` checks a file.

Later sources override earlier ones: the defaults, your own file (~/.config/quorum/quorum.toml,
or in $XDG_CONFIG_HOME), the project's file (quorum.toml in the working directory or above it, up
to the root of the repository), environment variables such as QUORUM_AGENT__MAX_TOOL_TURNS=3,
flags. --config FILE (or $QUORUM_CONFIG) replaces both files. `quorum config show` prints each
value and its source.

A project's file comes with the project, perhaps from a stranger. Until you trust it (`quorum
config trust`), it may do less than your own; the end of each explanation says what. quorum warns
about everything in it that is ignored."""
_OWN_PROVIDER = """\
Add a table for your own server, for example:
  [providers.ollama]
  type = "openai-chat"
  base_url = "http://localhost:11434/v1"
and then: models.decision = "ollama/NAME-OF-A-MODEL\""""
_AT_THE_END = "The keys of such a table are explained at the end of this file."
_IN_A_PROJECT_FILE = {
    ProjectRule.OWN: "is ignored, also in one you trust",
    ProjectRule.NEVER: "is ignored",
    ProjectRule.FREE: "applies",
    ProjectRule.LOWER: "applies if it is lower",
    ProjectRule.CAP: "applies if it is lower, or if there is no other",
    ProjectRule.STRICTER: "applies if it is stricter",
    ProjectRule.ADD: "is added to the list, never replaces it",
    ProjectRule.NARROW: "applies if it names fewer",
}


def render_reference() -> str:
    """The text of the reference: valid TOML that sets nothing, and the defaults once it is uncommented."""
    tree = load_schema_tree()
    values = dict(list_setting_values(Settings()))
    lines = [*_render_comment(_PREAMBLE)]
    outside = [entry for entry in tree.entries.values() if isinstance(entry, Key)]
    for key in outside:  # TOML knows no way to come back from a table, so they stand before all tables
        lines += ("", "", *_render_explanation(f"{key.about.description} {_AT_THE_END}", key.project))
        lines.append(_render_setting(key.path[-1], values[key.path]))
    for name, table in tree.entries.items():
        if isinstance(table, Table):
            lines += _render_table(table, (name,), values)
    for key in outside:
        lines += _render_array(key)
    return "\n".join(lines) + "\n"


def write_reference(path: Path) -> Path:
    """Write the reference to a new file, readable by its owner alone, and answer its path.

    Raises ConfigError where something is there already or cannot be written.
    """
    if is_present(path):
        raise ConfigError(f"{escape_path(path)} exists already and is left as it is; remove it first")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigError(f"{escape_path(path)} cannot be written: {error.strerror}") from error
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(render_reference())
    except OSError as error:
        path.unlink()
        raise ConfigError(f"{escape_path(path)} cannot be written: {error.strerror}") from error
    return path


def _render_table(table: Table, path: KeyPath, values: Mapping[KeyPath, object]) -> Iterator[str]:
    if table.has_free_names:
        built_in = dict.fromkeys(key[len(path)] for key in values if key[: len(path)] == path)
        yield from (
            _render_named_tables(table, path, values, built_in) if built_in else _render_own_tables(table, path)
        )
        return
    yield from ("", "")
    yield from _render_comment(table.about.description)
    yield f"[{format_key(path)}]"
    for name, entry in table.entries.items():
        if isinstance(entry, Key):
            yield from ("", *_render_explanation(entry.about.description, entry.project))
            yield _render_setting(name, values[(*path, name)])
    for name, entry in table.entries.items():
        if isinstance(entry, Table):
            yield from _render_table(entry, (*path, name), values)


def _render_array(key: Key) -> Iterator[str]:
    """The keys of the tables of an array, all of it comment: there is no such table by default."""
    if key.element is None:
        raise TypeError(f"the setting {format_key(key.path)} stands outside any table")
    yield from ("", "", *_render_comment(key.about.description), "##", f"## [[{format_key(key.path)}]]")
    yield from _render_keys_of_own(key.element)


def _render_own_tables(table: Table, path: KeyPath) -> Iterator[str]:
    """Tables of which none is built in, all of it comment: how one with the name NAME looks."""
    yield from ("", "", *_render_explanation(table.about.description, table.about.project))
    yield from _render_own_table(table, path)


def _render_own_table(table: Table, path: KeyPath) -> Iterator[str]:
    own = table.entries[ANY_NAME]
    here = (*path, table.about.names_example)
    if isinstance(own, Key):
        yield from ("##", f"## [{format_key(path)}]", f"##   {table.about.names_example} = …  ({own.expected})")
    if isinstance(own, Table):
        yield from ("##", f"## [{format_key(here)}]", *_render_keys_of_own(own))
        for name, entry in own.entries.items():
            if isinstance(entry, Table):
                yield from ("##", *_render_comment(entry.about.description))
                yield from _render_own_table(entry, (*here, name))


def _render_keys_of_own(table: Table) -> Iterator[str]:
    for name, entry in table.entries.items():
        if isinstance(entry, Table) and isinstance(entry.entries.get(ANY_NAME), Table):
            continue  # tables by name, explained below
        default = entry.default if isinstance(entry, Key) else {}
        given = "…  (required)" if isinstance(entry, Key) and entry.required else format_literal(default)
        yield from ("##", *_render_comment(entry.about.description), f"##   {name} = {given}")


def _render_named_tables(
    table: Table, path: KeyPath, values: Mapping[KeyPath, object], names: Iterable[str]
) -> Iterator[str]:
    """The tables of the built-in names; the first one explains the keys of all."""
    yield from ("", "", *_render_comment(table.about.description), "##", *_render_comment(_OWN_PROVIDER))
    for place, own_name in enumerate(names):
        yield from ("", f"[{format_key((*path, own_name))}]")
        named = table.find_entry(own_name)
        for name, entry in (named.entries if isinstance(named, Table) else {}).items():
            if place == 0:
                rule = next(iter(entry.entries.values())) if isinstance(entry, Table) else entry
                project = rule.project if isinstance(rule, Key) else None
                yield from ("", *_render_explanation(entry.about.description, project))
            yield _render_setting(name, values.get((*path, own_name, name), {}))


def _render_setting(name: str, value: object) -> str:
    return f"# {name} = {format_literal(value)}"


def _render_explanation(description: str, project: ProjectRule | None) -> Iterator[str]:
    yield from _render_comment(description)
    if project is not None:
        yield from _render_comment(f"In a project's file it {_IN_A_PROJECT_FILE[project]}.")


def _render_comment(text: str) -> Iterator[str]:
    for paragraph in text.split("\n"):
        wrapped = textwrap.wrap(paragraph, _WIDTH - 3, break_on_hyphens=False, break_long_words=False)
        yield from (f"## {line}".rstrip() for line in wrapped or ("",))
