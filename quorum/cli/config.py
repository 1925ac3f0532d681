"""`quorum config`: what the settings are, where they come from, and whether they hold."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.command_line.command import CliCommand, CommandGroup, argument, flag
from quorum.command_line.options import StartOptions
from quorum.command_line.shared import LIMITS, MODE, MODELS, PLACES
from quorum.errors import UsageError, complain

if TYPE_CHECKING:
    from quorum.infrastructure.config.loading import LoadedSettings
    from quorum.infrastructure.config.paths import ConfigLocations

_NAME_CELLS, _KEY_CELLS = 24, 30


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingOptions(StartOptions):
    """One setting of a file: the person's own, or the `project`'s. A `value` of None: take it out."""

    setting: str = ""
    value: str | None = None
    project: bool = False


def _show(options: StartOptions, root: Path) -> int:
    from quorum.infrastructure.config.report import show

    print(show(_load_readable(options, root)))
    return 0


def _check(options: StartOptions, root: Path) -> int:
    from quorum.infrastructure.config.report import check
    from quorum.settings import load

    print(check(_sound(load(options, root)), os.environ))
    return 0


def _print_path(options: StartOptions, root: Path) -> int:
    from quorum.infrastructure.config.report import render_config_path

    print(render_config_path(_find_locations(options, root)))
    return 0


def _write_reference(options: StartOptions, _root: Path) -> int:
    from quorum.infrastructure.config.paths import locate_user_file
    from quorum.infrastructure.config.report import write_reference

    target = options.config_file or locate_user_file(os.environ)
    if target is None:
        raise UsageError("there is no home folder; name the file to write with --config")
    print(f"wrote {write_reference(target)}")
    return 0


def _list_keys(options: StartOptions, root: Path) -> int:
    print("\n".join(_render_keys(_load_readable(options, root))))
    return 0


def _load_readable(options: StartOptions, root: Path) -> LoadedSettings:
    """The settings, without a project's file that cannot be read: a stranger's folder ends no look at them."""
    from quorum.settings import load

    loaded = load(options, root, needs_project=False)
    complain([loaded.left_out] if loaded.left_out else [])
    return _sound(loaded)


def _sound(loaded: LoadedSettings) -> LoadedSettings:
    from quorum.settings import check_keys

    check_keys(loaded)
    return loaded


def _write(options: SettingOptions, root: Path) -> int:
    """Set one key of a file, or take it out."""
    from quorum.app.settings_service import PROJECT, FileSettingsService
    from quorum.domain.text.printable import make_printable

    service = FileSettingsService(options, root)
    named = [target for target in service.targets if (target.name == PROJECT) is options.project]
    if not named:
        raise UsageError("there is no such file here; see: quorum config path")
    print(make_printable(service.write(options.setting, options.value, named[0]).message))
    return 0


def _trust(options: StartOptions, root: Path) -> int:
    """Show what the project's file wants, and trust it as it is now."""
    import asyncio

    from quorum.domain.errors import ConfigError
    from quorum.domain.text.printable import make_printable
    from quorum.infrastructure.trust_decisions import open_trust_decisions
    from quorum.settings import build_trust_question, load, load_trusting

    locations = _find_locations(options, root)
    if locations.named is not None:
        raise UsageError(f"{locations.named_by} replaces the project's file; leave it out to trust that")
    decisions = open_trust_decisions(os.environ)
    loaded = load(options, root)
    question = build_trust_question(loaded, root, decisions)
    if question is None:
        print(_explain_nothing_to_trust(loaded, root))
        return 0
    for item in decisions.recall(question).items:
        if changes := item.compare():
            print(f"{make_printable(item.file)} has changed since you trusted it:")
            print("\n".join(f"  {make_printable(line)}" for line in changes), end="\n\n")
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
    return 0


def _untrust(options: StartOptions, root: Path) -> int:
    """Trust none of the files any more that would be read in this folder."""
    import asyncio

    from quorum.domain.text.printable import make_printable
    from quorum.infrastructure.config.paths import FILE_NAME, resolve_trusted_place
    from quorum.infrastructure.instructions.instruction_files import NAMES as INSTRUCTION_FILES
    from quorum.infrastructure.instructions.instruction_files import list_wanted_contents
    from quorum.infrastructure.trust_decisions import open_trust_file

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
    return 0


def _explain_nothing_to_trust(loaded: LoadedSettings, root: Path) -> str:
    from quorum.domain.sessions.trust import Standing
    from quorum.domain.text.printable import make_printable
    from quorum.infrastructure.instructions.instruction_files import list_wanted_contents

    if list_wanted_contents(root, os.environ, loaded.settings):
        return "all that this project brings along is trusted as it is now"
    if loaded.locations.project is None:
        raise UsageError("there is no project's file here, and so nothing to trust; see: quorum config path")
    file = make_printable(str(loaded.locations.project))
    if loaded.standing is Standing.TRUSTED:
        return f"{file} is trusted already"
    return f"{file} wants nothing for which it would have to be trusted"


def _find_locations(options: StartOptions, root: Path) -> ConfigLocations:
    from quorum.infrastructure.config.paths import locate

    return locate(cwd=root, environ=os.environ, config_file=options.config_file)


def _render_keys(loaded: LoadedSettings) -> Iterator[str]:
    """All of them, by context; a key that the settings changed is listed with the usual one."""
    from quorum.domain.text.printable import make_printable
    from quorum.tui.keys.keymap import build_keymap, group_by_context

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
    from quorum.tui.keys.keymap import label_key

    return ", ".join(map(label_key, keys))


_OVERRIDES = (*MODELS, MODE, *LIMITS, *PLACES)
_PROJECT = flag("--project", help="in the project's file, not your own")
_SETTING = argument("setting", metavar="KEY", help="the setting, such as tui.theme")
COMMAND = CommandGroup(
    {
        "show": CliCommand(
            StartOptions,
            _show,
            summary="Print every setting with its value and where it comes from.",
            arguments=_OVERRIDES,
            examples=(
                ("quorum config show", "as a session in this folder would have them"),
                ("quorum config show --mode auto", "with an option, which overrides files and environment"),
            ),
        ),
        "check": CliCommand(
            StartOptions,
            _check,
            summary="Check the configuration files, and say which ones are read.",
            arguments=_OVERRIDES,
            examples=(("quorum config check --config ci/quorum.toml", "check one file"),),
        ),
        "path": CliCommand(
            StartOptions,
            _print_path,
            summary="Print where the configuration files are looked for.",
            arguments=PLACES,
        ),
        "init": CliCommand(
            StartOptions,
            _write_reference,
            summary="Write the commented reference of all settings to your own file.",
            details="A file that is there already is not replaced.",
            arguments=PLACES,
        ),
        "set": CliCommand(
            SettingOptions,
            _write,
            summary="Write one setting to your own file; everything else in it is kept.",
            arguments=(
                _PROJECT,
                *PLACES,
                _SETTING,
                argument("value", metavar="VALUE", help="its value, as text or as TOML"),
            ),
            examples=(
                ("quorum config set tui.theme nord", "your own file"),
                ("quorum config set --project review.mode ask", "the project's file"),
            ),
        ),
        "unset": CliCommand(
            SettingOptions,
            _write,
            summary="Take one setting out of your own file.",
            arguments=(_PROJECT, *PLACES, _SETTING),
            examples=(("quorum config unset tui.theme", "the default counts again"),),
        ),
        "trust": CliCommand(
            StartOptions,
            _trust,
            summary="Trust what the project's files ask for, as they are now.",
            details="It shows what that is first. After any change of a file it is asked about again.",
            arguments=PLACES,
        ),
        "untrust": CliCommand(
            StartOptions,
            _untrust,
            summary="Trust none of the project's files any more.",
            arguments=PLACES,
        ),
        "keys": CliCommand(
            StartOptions,
            _list_keys,
            summary="List what keys do, by the names that [tui.keys] takes.",
            arguments=PLACES,
        ),
    },
    example=("quorum config set tui.theme nord", "change a setting"),
)
