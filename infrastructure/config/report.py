"""The settings for people: what `quorum config` prints and writes, and each one with its value and origin."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import assert_never

from msgspec import Struct

from quorum.domain.errors import ConfigError
from quorum.domain.review.ballot import list_unused_lenses
from quorum.domain.sessions.trust import Standing
from quorum.domain.settings import ProjectRule
from quorum.infrastructure.config.keys import (
    ANY_NAME,
    Key,
    Table,
    describe_unknown_key,
    find_key,
    find_node,
    load_schema_tree,
)
from quorum.infrastructure.config.loading import FLAG_ORIGIN, LoadedSettings, list_setting_values
from quorum.infrastructure.config.model_choice import ROLES, ModelRoles, choose_roles
from quorum.infrastructure.config.paths import ConfigLocations, is_present
from quorum.infrastructure.config.policy_file import POLICY_PLACE
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.config.toml_file import escape_path
from quorum.infrastructure.config.toml_text import (
    KeyPath,
    escape_unprintable,
    format_key,
    format_literal,
    hide_credentials,
    parse_key_path,
    parse_value,
)

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


_HIDDEN = '"********"'
_COMMENT_COLUMN = 60


def show(loaded: LoadedSettings) -> str:
    """Every setting and where it came from, as TOML with comments. Secrets are hidden."""
    lines = [
        f"{f'{key} = {text}':<{_COMMENT_COLUMN}}  # {origin}"
        for key, text, origin in list_setting_texts(loaded)
    ]
    lines += (f"# {line}" for line in (*_trust(loaded), *loaded.policy.describe()))
    lines += (f"# warning: {warning}" for warning in loaded.warnings)
    return "\n".join(lines)


def list_setting_texts(loaded: LoadedSettings) -> Iterator[tuple[str, str, str]]:
    """Every setting: its key, its value as TOML, and where it came from. Secrets are hidden."""
    for path, value in list_setting_values(loaded.settings):
        text = _HIDDEN if find_key(path).about.secret else hide_credentials(format_literal(value))
        yield format_key(path), text, escape_unprintable(loaded.origins[format_key(path)])


def _trust(loaded: LoadedSettings) -> Iterator[str]:
    """How the project's file stands, where one was read."""
    if loaded.locations.project is None or loaded.standing is None:
        return
    file = escape_path(loaded.locations.project)
    match loaded.standing:
        case Standing.TRUSTED:
            yield f"{file} is trusted"
        case Standing.CHANGED:
            yield f"{file} is not trusted: it has changed since you trusted it"
        case Standing.UNKNOWN:
            yield f"{file} is not trusted"
        case _:
            assert_never(loaded.standing)


def check(loaded: LoadedSettings, environ: Mapping[str, str]) -> str:
    """What was found and which models follow from it; loading has already refused what is wrong.

    Raises ConfigError where no model can be chosen, or one has no provider.
    """
    origins = list(loaded.origins.values())
    lines = [
        f"{escape_path(file)}: valid; {_render_settings(_count(origins, str(file)))}" for file in loaded.files
    ]
    lines = lines or ["no configuration file: the defaults count"]
    others = {origin for origin in origins if origin.startswith("environment ") or origin == FLAG_ORIGIN}
    lines += (
        f"{escape_unprintable(origin)}: {_render_settings(_count(origins, origin))}"
        for origin in sorted(others)
    )
    roles = choose_roles(loaded, environ)
    lines += _render_roles(roles)
    review, participants = (
        [choice.model for choice in roles.get_choices(role)] for role in ("review", "participants")
    )
    unused = list_unused_lenses(loaded.settings.quorum.lenses, review, participants)
    lines += (*loaded.policy.describe(), *(f"warning: {warning}" for warning in (*loaded.warnings, *unused)))
    return "\n".join(lines)


def _render_roles(roles: ModelRoles) -> Iterator[str]:
    for role in ROLES:
        if not roles.get_choices(role):
            yield f"{role}: no model, because models.{role} is not set"
        for choice in roles.get_choices(role):
            yield f"{role}: {choice.model}, because {escape_unprintable(choice.reason)}"


def render_config_path(locations: ConfigLocations) -> str:
    """Which files are looked for, which of them exist, and which are read; the strongest last."""
    return "\n".join(f"{name:<14}{text}" for name, text in _list_places(locations))


def _list_places(locations: ConfigLocations) -> Iterator[tuple[str, str]]:
    replaced = locations.named is not None
    if locations.user is None:
        yield "user", "no home folder"
    else:
        yield "user", f"{escape_path(locations.user)}  ({_render_state(is_present(locations.user), replaced)})"
    if locations.project is not None:
        rules = "" if replaced else ", as a project's file: until you trust it, it may only tighten"
        yield "project", f"{escape_path(locations.project)}  ({_render_state(True, replaced)}{rules})"
    else:
        first, last = locations.project_search[0], locations.project_search[-1]
        up_to = f" and above, up to {escape_path(last.parent)}" if first != last else ""
        yield "project", f"{escape_path(first)}{up_to}  (not there)"
    if is_present(POLICY_PLACE.file):
        yield "policy", f"{escape_path(POLICY_PLACE.file)}  (read; no other file goes beyond it)"
    if locations.named is not None:
        there = is_present(locations.named)
        yield (
            locations.named_by,
            f"{escape_path(locations.named)}  ({_render_state(there, False)}, in place of the others)",
        )


def _render_state(there: bool, replaced: bool) -> str:
    if not there:
        return "not there"
    return "there, but not read" if replaced else "read"


def _count(origins: list[str], source: str) -> int:
    """How many settings a source gives, alone or added to another's."""
    return sum(origin == source or origin.endswith(f" + {source}") for origin in origins)


def _render_settings(count: int) -> str:
    return f"{count} setting{'s' if count != 1 else ''} from it count{'s' if count == 1 else ''}"


HIDDEN = '"********"'


class SettingAccount(Struct, frozen=True, kw_only=True):
    """One setting. `value` and `default` are TOML with nothing secret in it; `default` may be empty.

    `origin` is a file with its line, a variable, "flag" or "default". `fixed` says why it is changed elsewhere;
    it is empty where it can be changed here.
    """

    path: KeyPath
    value: str
    default: str
    origin: str
    description: str
    expected: str
    choices: tuple[str, ...]
    fixed: str


def list_accounts(loaded: LoadedSettings) -> Iterator[SettingAccount]:
    """All settings that have a value, in the order of the schema."""
    defaults = _list_defaults()
    for path, value in list_setting_values(loaded.settings):
        key = find_key(path)
        default = defaults.get(path)
        yield SettingAccount(
            path=path,
            value=format_value(key, value),
            default="" if default is None else format_value(key, default),
            origin=escape_unprintable(loaded.locate(path)),
            description=key.about.description,
            expected=key.expected,
            choices=("true", "false") if key.expected == "true or false" else key.choices,
            fixed=_explain_fixed(key, value),
        )


def format_value(key: Key, value: object) -> str:
    """A value as TOML, without what is secret in it."""
    return HIDDEN if key.about.secret else hide_credentials(format_literal(value))


def parse_setting_path(text: str) -> KeyPath:
    """The path of the setting that a person names. Raises ConfigError, with the nearest one, where there is
    none."""
    try:
        path = parse_key_path(text.strip())
    except ValueError:
        path = tuple(text.strip().split("."))
    node = find_node(path)
    if isinstance(node, Key):
        return path
    if isinstance(node, Table):
        names = ", ".join(node.entries) if not node.has_free_names else f"{format_key(path)}.NAME"
        raise ConfigError(f"{format_key(path)} is a table of settings: {names}")
    raise ConfigError(describe_unknown_key(path))


def parse_typed_value(path: KeyPath, text: str) -> object:
    """The value that a person has typed for a setting: TOML, or for a text what was typed.

    Whether it fits is for the loader to say. Raises ConfigError for a secret and for what is only edited in a
    file.
    """
    key = find_key(path)
    if fixed := _explain_fixed(key, None):
        raise ConfigError(f"{format_key(path)} {fixed}")
    value = parse_value(text.strip())
    takes_text = key.fits("") or key.fits(text.strip()) or bool(key.choices)
    return text.strip() if takes_text and not isinstance(value, str | list) else value


def explain_project_refusal(path: KeyPath) -> str:
    """Why a project's file may not set this, trusted or not; empty where it may."""
    if find_key(path).project is ProjectRule.OWN:
        return f"no project's file may set {format_key(path)}, so that would be ignored: put it in your own"
    return ""


def list_writable_files(locations: ConfigLocations) -> dict[str, str]:
    """The files in which settings can be put, by what they are to the person."""
    if locations.named is not None:
        return {f"the file of {locations.named_by}": str(locations.named)}
    project = locations.project or locations.project_search[-1]
    own = {"your own file": str(locations.user)} if locations.user is not None else {}
    return own if project == locations.user else {**own, "the project's file": str(project)}


@cache
def _list_defaults() -> dict[KeyPath, object]:
    return dict(list_setting_values(Settings()))


def _explain_fixed(key: Key, value: object) -> str:
    if key.about.secret:
        return "is secret: it is neither shown nor changed here, but in its file"
    if key.element is not None:
        return f"is a list of tables: edit [[{format_key(key.path)}]] in its file"
    if isinstance(value, str) and hide_credentials(value) != value:
        return "holds a password: it is changed in its file"
    return ""
