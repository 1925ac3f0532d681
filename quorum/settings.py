"""The settings a command line asks for, as far as the person trusts where they come from."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.application.program_lookup import note_writable
from quorum.command_line.options import StartOptions
from quorum.domain.errors import ConfigError
from quorum.domain.replacing import replace
from quorum.domain.sessions.trust import TrustQuestion
from quorum.infrastructure.config.loading import LoadedSettings, load_settings
from quorum.infrastructure.config.model_choice import parse_model_overrides
from quorum.infrastructure.config.toml_file import TomlFile
from quorum.infrastructure.instructions.instruction_files import list_wanted_contents
from quorum.infrastructure.storage import list_writable_paths
from quorum.infrastructure.trust_decisions import TrustDecisions, TrustedFiles, open_trust_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from quorum.application.ports.people import Approver
    from quorum.infrastructure.config.config_file import ConfigFile


def load(
    options: StartOptions, root: Path, instead: TomlFile | None = None, *, needs_project: bool = True
) -> LoadedSettings:
    """Files, environment and options, the later ones first; nobody is asked. Raises ConfigError.

    `instead` counts in place of the file of its name. Without `needs_project` a project's file that cannot be
    read is left out.
    """
    return _load(options, root, _load_trusted(), instead, needs_project=needs_project)


async def load_with_trust(
    options: StartOptions,
    root: Path,
    decisions: TrustDecisions,
    person: Approver,
    before_asking: Callable[[LoadedSettings], object] = lambda _settings: None,
) -> LoadedSettings:
    """The same once the person was asked about what the project brings along, if there is something to ask;
    `before_asking` gets what holds until the answer.

    All is read again after the answer, which is about what was read before: if it contains something else by
    then, that is asked about anew. Only settings that can be loaded are remembered as trusted. Raises
    ConfigError.
    """
    loaded = await asyncio.to_thread(load_trusting, options, root, decisions.load_trusted())
    unkept: list[str] = []
    while (question := await asyncio.to_thread(build_trust_question, loaded, root, decisions)) is not None:
        before_asking(loaded)
        if not await decisions.ask(question, person):
            break
        answered = decisions.with_answer(question)
        loaded = await asyncio.to_thread(load_trusting, options, root, answered.load_trusted())
        if await asyncio.to_thread(build_trust_question, loaded, root, answered) is not None:
            continue  # it says something else by now
        if (problem := await decisions.accept(question)) is not None:
            unkept.append(problem)
    return replace(loaded, warnings=(*loaded.warnings, *unkept))


def build_trust_question(loaded: LoadedSettings, root: Path, decisions: TrustDecisions) -> TrustQuestion | None:
    """What of all that the project brings along is to be asked about: settings, instructions and commands.
    Blocks."""
    if loaded.is_safe:
        return None
    items = decisions.list_untrusted(list_wanted_contents(root, os.environ, loaded.settings))
    if loaded.question is None:
        return TrustQuestion(folder=str(Path(os.path.realpath(root))), items=items) if items else None
    return loaded.question.extend(items)


def load_trusting(options: StartOptions, root: Path, trusted: TrustedFiles) -> LoadedSettings:
    """The settings as they are where this is trusted. Raises ConfigError."""
    return _load(options, root, trusted)


def _load_trusted() -> TrustedFiles:
    file = open_trust_file(os.environ)
    return file.load() if file is not None else TrustedFiles()


def _load(
    options: StartOptions,
    root: Path,
    trusted: TrustedFiles,
    instead: TomlFile | None = None,
    *,
    needs_project: bool = True,
) -> LoadedSettings:
    loaded = load_settings(
        cwd=root,
        environ=os.environ,
        config_file=options.config_file,
        overrides={**parse_model_overrides(options.models), **options.overrides},
        standing=trusted.find_standing,
        instead=instead,
        needs_project=needs_project,
        is_safe=options.safe,
    )
    note_writable((str(root), *list_writable_paths(loaded.settings, root, os.environ)))
    if trusted.warning is None or loaded.standing is None:
        return loaded
    return replace(loaded, warnings=(trusted.warning, *loaded.warnings))


def open_own_file(options: StartOptions, root: Path, loaded: LoadedSettings) -> ConfigFile:
    """The file that is the person's own, or that --config names. Raises ConfigError where there is none."""
    from quorum.infrastructure.config.config_file import ConfigFile
    from quorum.infrastructure.config.report import list_writable_files

    if loaded.locations.named is None and loaded.locations.user is None:
        raise ConfigError("there is no home folder; name the file to write with --config")
    path = next(iter(list_writable_files(loaded.locations).values()))
    return ConfigFile(Path(path), partial(load, options, root, needs_project=False))


def check_keys(loaded: LoadedSettings) -> None:
    """Raise ConfigError for each key of `[tui.keys]` that cannot be, with its place.

    Loads all screens of the app if there are such keys, which programs without a screen never need.
    """
    if not (wishes := loaded.settings.tui.keys):
        return
    from quorum.tui.keys.keymap import find_problems

    if wrong := [
        f"{loaded.locate(('tui', 'keys', name))}: tui.keys.{name}: {sentence}"
        for name, sentence in find_problems(wishes)
    ]:
        raise ConfigError("\n".join(wrong))
