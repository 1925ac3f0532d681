"""The settings a command line asks for, as far as the person trusts where they come from."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from domain.errors import ConfigError
from domain.sessions.trust import Standing, TrustQuestion
from domain.text.printable import printable
from infrastructure.config.loading import LoadedSettings, load_settings
from infrastructure.config.model_choice import model_overrides
from infrastructure.config.toml_file import TomlFile
from infrastructure.trust.trust_file import TrustedFiles, trust_file
from quorum.options import Options

AskTrust: TypeAlias = Callable[[TrustQuestion], Awaitable[bool]]


def load(options: Options, root: Path, instead: TomlFile | None = None) -> LoadedSettings:
    """Files, environment and options, the later ones first; nobody is asked. Raises ConfigError.

    `instead` counts in place of the file of its name.
    """
    return _load(options, root, _trusted(), instead)


async def load_with_trust(options: Options, root: Path, ask: AskTrust) -> LoadedSettings:
    """The same once the person was asked about the project's file, if there is something to ask.

    The file is read again after the answer, which is about what was read before: if it contains something else
    by then, that is asked about anew. Only what can be loaded is remembered as trusted. Raises ConfigError.
    """
    loaded = await asyncio.to_thread(load, options, root)
    while (question := loaded.question) is not None and await ask(question):
        loaded = await asyncio.to_thread(load_trusting, options, root, question)
        if loaded.standing is Standing.TRUSTED:
            try:
                await remember(question)
            except ConfigError as error:
                problem = f"{printable(question.file)} is trusted in this session only: {error}"
                loaded = replace(loaded, warnings=(*loaded.warnings, problem))
    return loaded


def load_trusting(options: Options, root: Path, question: TrustQuestion) -> LoadedSettings:
    """The settings as they are if the answer to this question is yes. Raises ConfigError."""
    return _load(options, root, _trusted().with_answer(question))


async def remember(question: TrustQuestion) -> None:
    """Keep a yes beyond the session. Raises ConfigError."""
    if (file := trust_file(os.environ)) is None:
        raise ConfigError("there is no home folder to remember it in; set HOME or XDG_STATE_HOME")
    await file.trust(question)


def _trusted() -> TrustedFiles:
    file = trust_file(os.environ)
    return file.load() if file is not None else TrustedFiles()


def _load(
    options: Options, root: Path, trusted: TrustedFiles, instead: TomlFile | None = None
) -> LoadedSettings:
    loaded = load_settings(
        cwd=root,
        environ=os.environ,
        config_file=options.config_file,
        overrides={**model_overrides(options.models), **options.overrides},
        standing=trusted.standing,
        instead=instead,
    )
    if trusted.warning is None or loaded.standing is None:
        return loaded
    return replace(loaded, warnings=(trusted.warning, *loaded.warnings))
