"""`quorum config`: what the settings are, where they come from, and whether they hold."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

from domain.errors import ConfigError
from domain.sessions.trust import Standing
from domain.text.printable import make_printable
from infrastructure.config.loading import LoadedSettings
from infrastructure.config.paths import (
    FILE_NAME,
    ConfigLocations,
    locate,
    locate_user_file,
    resolve_trusted_place,
)
from infrastructure.config.reference import write_reference
from infrastructure.config.report import check, render_config_path, show
from infrastructure.instructions.files import NAMES as INSTRUCTION_FILES
from infrastructure.instructions.project_contents import list_wanted_contents
from infrastructure.trust.decisions import open_trust_decisions
from infrastructure.trust.trust_file import open_trust_file
from quorum.app.settings_service import PROJECT, FileSettingsService
from quorum.errors import UsageError, complain
from quorum.options import Options
from quorum.settings import build_trust_question, check_keys, load, load_trusting
from tui.keys.keymap import build_keymap, group_by_context
from tui.keys.names import label_key

_NAME_CELLS, _KEY_CELLS = 24, 30


def print_config(options: Options, root: Path) -> int:
    """Do what is asked about the settings; always 0. Raises ConfigError, and UsageError where it cannot be."""
    match options.action:
        case "path":
            print(render_config_path(locate(cwd=root, environ=os.environ, config_file=options.config_file)))
        case "init":
            target = options.config_file or locate_user_file(os.environ)
            if target is None:
                raise UsageError("there is no home folder; name the file to write with --config")
            print(f"wrote {write_reference(target)}")
        case "trust":
            _trust(options, root)
        case "untrust":
            _untrust(options, root)
        case "set" | "unset":
            _write(options, root)
        case "keys":
            print(render_key_listing(_load_readable(options, root)))
        case "check":
            print(check(_sound(load(options, root)), os.environ))
        case _:
            print(show(_load_readable(options, root)))
    return 0


def _load_readable(options: Options, root: Path) -> LoadedSettings:
    """The settings, without a project's file that cannot be read: a stranger's folder ends no look at them."""
    loaded = load(options, root, needs_project=False)
    complain([loaded.left_out] if loaded.left_out else [])
    return _sound(loaded)


def _sound(loaded: LoadedSettings) -> LoadedSettings:
    check_keys(loaded)
    return loaded


def _write(options: Options, root: Path) -> None:
    """Set one key of a file, or take it out."""
    service = FileSettingsService(options, root)
    named = [target for target in service.targets if (target.name == PROJECT) is options.project]
    if not named:
        raise UsageError("there is no such file here; see: quorum config path")
    text = options.value if options.action == "set" else None
    print(make_printable(service.write(options.setting, text, named[0]).message))


def _trust(options: Options, root: Path) -> None:
    """Show what the project's file wants, and trust it as it is now."""
    locations = _find_locations(options, root)
    if locations.named is not None:
        raise UsageError(f"{locations.named_by} replaces the project's file; leave it out to trust that")
    decisions = open_trust_decisions(os.environ)
    loaded = load(options, root)
    question = build_trust_question(loaded, root, decisions)
    if question is None:
        print(_explain_nothing_to_trust(loaded, root))
        return
    for item in question.items:
        print(
            "\n".join(
                (f"{make_printable(item.file)} wants:", *(f"  {make_printable(want)}" for want in item.wants))
            )
        )
    for item in (item for item in question.items if item.text):
        print(
            "\n".join(
                ("", f"{make_printable(item.file)} says:", *(f"  {make_printable(line)}" for line in item.text))
            )
        )
    answered = decisions.with_answer(question)
    if build_trust_question(load_trusting(options, root, answered.load_trusted()), root, answered) is not None:
        raise UsageError("something was changed meanwhile; nothing is trusted, look at it again")
    if (problem := asyncio.run(decisions.accept(question))) is not None:
        raise ConfigError(problem)
    print("trusted as it is now; after any change it is asked about again (quorum config untrust ends it)")


def _untrust(options: Options, root: Path) -> None:
    """Trust none of the files any more that would be read in this folder."""
    folders = [file.parent for file in _find_locations(options, root).project_search]
    places = [
        resolve_trusted_place(folder / name) for folder in folders for name in (FILE_NAME, *INSTRUCTION_FILES)
    ]
    places += list_wanted_contents(root, os.environ, _load_readable(options, root).settings)
    file = open_trust_file(os.environ)
    forgotten = asyncio.run(file.forget(places)) if file is not None else ()
    for place in forgotten:
        print(f"{make_printable(str(place))} is not trusted any more")
    if not forgotten:
        print("no project's file was trusted here")


def _explain_nothing_to_trust(loaded: LoadedSettings, root: Path) -> str:
    if list_wanted_contents(root, os.environ, loaded.settings):
        return "all that this project brings along is trusted as it is now"
    if loaded.locations.project is None:
        raise UsageError("there is no project's file here, and so nothing to trust; see: quorum config path")
    file = make_printable(str(loaded.locations.project))
    if loaded.standing is Standing.TRUSTED:
        return f"{file} is trusted already"
    return f"{file} wants nothing for which it would have to be trusted"


def _find_locations(options: Options, root: Path) -> ConfigLocations:
    return locate(cwd=root, environ=os.environ, config_file=options.config_file)


def render_key_listing(loaded: LoadedSettings) -> str:
    """All of them, room by room; a key that the settings changed is listed with the usual one."""
    return "\n".join(_render_lines(loaded))


def _render_lines(loaded: LoadedSettings) -> Iterator[str]:
    yield 'To change a key, set its name under [tui.keys], such as redraw = "f5" (docs/keyboard-shortcuts.md).'
    for title, rows in group_by_context(build_keymap(loaded.settings.tui.keys)):
        yield ""
        yield title
        for key_action, keys in rows:
            usual, present = _join_keys(key_action.keys), _join_keys(keys)
            changed = f"  (usually {usual})" if present != usual else ""
            name = f"  {key_action.name:<{_NAME_CELLS}}"
            yield f"{name}{present:<{_KEY_CELLS}} {make_printable(key_action.does)}{changed}"


def _join_keys(keys: tuple[str, ...]) -> str:
    return ", ".join(map(label_key, keys))
