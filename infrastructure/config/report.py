"""What `quorum config show`, `check` and `path` print."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import assert_never

from quorum.domain.review.ballot import list_unused_lenses
from quorum.domain.sessions.trust import Standing
from quorum.infrastructure.config.keys import find_key
from quorum.infrastructure.config.loading import FLAG_ORIGIN, LoadedSettings, list_setting_values
from quorum.infrastructure.config.model_choice import ROLES, ModelRoles, choose_roles
from quorum.infrastructure.config.paths import ConfigLocations, is_present
from quorum.infrastructure.config.policy_file import POLICY_PLACE
from quorum.infrastructure.config.toml_file import escape_path
from quorum.infrastructure.config.toml_text import (
    escape_unprintable,
    format_key,
    format_literal,
    hide_credentials,
)

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
