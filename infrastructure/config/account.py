"""Every setting as a person may look at it and change it: its value, where that came from, what it means."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from msgspec import Struct

from quorum.domain.errors import ConfigError
from quorum.infrastructure.config.about import ProjectRule
from quorum.infrastructure.config.keys import Key, Table, find_key, find_node
from quorum.infrastructure.config.loading import LoadedSettings, list_setting_values
from quorum.infrastructure.config.paths import ConfigLocations
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.config.toml_text import (
    KeyPath,
    escape_unprintable,
    format_key,
    format_literal,
    hide_credentials,
    parse_key_path,
    parse_value,
)
from quorum.infrastructure.config.validation import describe_unknown_key

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
