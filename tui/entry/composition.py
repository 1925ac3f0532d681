"""The composition of a session out of its settings, and the warming up of what it will need."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from threading import Thread

from application.ports import Observer, Person
from domain.events import Event
from infrastructure.config.loading import LoadedSettings
from infrastructure.config.model_choice import decision_model
from infrastructure.container import Container
from infrastructure.process_privacy import close_process_to_inspection
from tui.headless import Nobody


def compose(loaded: LoadedSettings, root: Path, person: Person, observer: Observer) -> Container:
    """A session, complete but for what is loaded on first use. Raises ConfigError and ProviderError."""
    close_process_to_inspection()
    container = _container(loaded, root, decision_model(loaded, os.environ), person, observer)
    container.session()  # a missing key is told now, not at the first prompt
    container.rules()  # and so is a damaged file of saved rules
    container.spec()  # and so are tools that cannot be had
    Thread(target=_warm_up, args=(container,), name="warm-up", daemon=True).start()
    return container


def compose_unused(loaded: LoadedSettings, root: Path) -> Container:
    """A session that is only looked at: nobody is asked, nobody hears of it, and no model is needed."""
    return _container(loaded, root, "", Nobody(), _Unheard())


def _container(loaded: LoadedSettings, root: Path, model: str, person: Person, observer: Observer) -> Container:
    return Container(
        settings=loaded.settings,
        model=model,
        root=root,
        environ=os.environ,
        config_files=loaded.files,
        origins=loaded.origins,
        person=person,
        observer=observer,
    )


class _Unheard:
    """Nobody hears what happens."""

    def notify(self, event: Event) -> None:
        """Take no note."""


def _warm_up(container: Container) -> None:
    """Import what takes long while the person types or the first answer is on its way."""
    container.gateway().warm_up(container.model())
    container.schema().warm_up(container.spec())
    container.sandbox().look()
    if "textual" in sys.modules:
        from tui.transcript.view import TranscriptView

        TranscriptView.warm_up()
    gc.freeze()
    gc.enable()
