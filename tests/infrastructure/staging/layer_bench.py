"""A workspace, what is done in a layer over it, and that layer as it is read and applied afterwards."""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
import subprocess
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from quorum.domain.staging.layer_effects import AppliedEffects, EffectChoice, LayerEffect, LayerEffects
from quorum.infrastructure.config.paths import locate_state_folder
from quorum.infrastructure.staging.entering import EnteredLayer
from quorum.infrastructure.staging.layer_folder import StoredLayer, list_layers
from quorum.infrastructure.staging.workspace_layer import WorkspaceLayer, open_layer
from tests.support.layer_process import run_in_layer

_Result = TypeVar("_Result")
_GIT = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")


class LayerBench:
    """The person works in `workspace` by plain files; `work` does so in the layer."""

    def __init__(self, folder: Path, *, is_new: bool = True) -> None:
        self.workspace = folder / "work space"
        if is_new:
            self.workspace.mkdir(parents=True)
        self.environ = {
            "HOME": str(folder),
            "XDG_STATE_HOME": str(folder / "state"),
            "PATH": os.environ["PATH"],
            "GIT_CONFIG_NOSYSTEM": "1",
        }

    def write(self, path: str, text: str) -> None:
        """Have a file of the person's hold this."""
        place = self.workspace / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def read(self, path: str) -> str | None:
        """What a file of the person's holds."""
        place = self.workspace / path
        return place.read_text() if place.is_file() else None

    def work(self, script: str) -> None:
        """Run a shell script in the layer."""
        self.do(lambda: _run(("sh", "-ec", script), self.workspace, self.environ))

    def do(self, work: Callable[[], _Result]) -> _Result:
        """Do this in a process whose working folder is the layer."""

        def begin(entered: EnteredLayer) -> _Result:
            os.chdir(entered.folder.workspace)
            return work()

        return run_in_layer(self.workspace, self.environ, begin)

    def work_on(self, work: Callable[[WorkspaceLayer], Coroutine[Any, Any, _Result]]) -> _Result:
        """Do this in a process that works in the layer and has it read, applied and undone meanwhile."""

        def begin(entered: EnteredLayer) -> _Result:
            os.chdir(entered.folder.workspace)
            layer = WorkspaceLayer(
                entered.folder,
                self.environ,
                find_real=lambda: entered.real,
                closed=entered.closed,
                is_protected=lambda _path: False,
            )
            return asyncio.run(work(layer))

        return run_in_layer(self.workspace, self.environ, begin)

    def git(self, *arguments: str) -> str:
        """Run git as the person does."""
        return _run(("git", *_GIT, *arguments), self.workspace, self.environ)

    def work_git(self, *arguments: str) -> None:
        """Run git in the layer."""
        self.do(lambda: _run(("git", *_GIT, *arguments), self.workspace, self.environ))

    @property
    def stored(self) -> StoredLayer:
        """The layer that there is."""
        return self.list_stored()[-1]

    def list_stored(self) -> Sequence[StoredLayer]:
        """All layers over the workspace."""
        state = locate_state_folder(self.environ)
        assert state is not None
        return list_layers(state, self.workspace)

    @contextmanager
    def opened(self) -> Iterator[WorkspaceLayer]:
        """The layer, held from outside."""
        with open_layer(self.stored, self.environ, lambda path: "/.git/" in path, lambda _said: None) as layer:
            yield layer

    def ask(self, work: Callable[[WorkspaceLayer], Coroutine[Any, Any, _Result]]) -> _Result:
        """Ask the layer something from outside."""
        with self.opened() as layer:
            return asyncio.run(work(layer))

    def read_effects(self) -> LayerEffects:
        """All effects."""
        return self.ask(lambda layer: layer.read_effects())

    def find(self, path: str) -> LayerEffect:
        """The effect at a path."""
        return next(each for each in self.read_effects().effects if each.path == path)

    def list_effects(self) -> dict[str, str]:
        """What the effects are, by their paths."""
        return {each.path: each.kind.value for each in self.read_effects().effects}

    def apply(self, choice: EffectChoice | None = None) -> AppliedEffects:
        """Apply what stands now."""

        async def apply(layer: WorkspaceLayer) -> AppliedEffects:
            effects = await layer.read_effects()
            return await layer.apply(choice or EffectChoice(), effects.digest)

        return self.ask(apply)

    def undo(self) -> AppliedEffects:
        """Take back what was applied last."""
        return self.ask(lambda layer: layer.undo_apply())

    def redo(self) -> AppliedEffects:
        """Apply again what was taken back last."""
        return self.ask(lambda layer: layer.redo_apply())


def open_folders(root: Path) -> None:
    """Have all folders be ones that whoever tidies up may enter: the kernel leaves one that nobody may."""
    for above, folders, _ in os.walk(root):
        for name in folders:
            path = os.path.join(above, name)
            if not os.path.islink(path):
                os.chmod(path, 0o700)


def describe_tree(root: Path | str, *, without: str = "") -> dict[str, str]:
    """What stands below a folder: kinds, modes and contents by path; `without`: not what begins so."""
    found = {}
    for above, folders, names in os.walk(root):
        for name in (*folders, *names):
            path = os.path.join(above, name)
            status = os.lstat(path)
            shown = os.path.relpath(path, root)
            if without and shown.startswith(without):
                continue
            if stat.S_ISLNK(status.st_mode):
                held = os.readlink(path)
            elif stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    held = hashlib.file_digest(file, "sha256").hexdigest()
            else:
                held = ""
            found[shown] = f"{status.st_mode:o} {held}"
    return found


def _run(arguments: tuple[str, ...], folder: Path, environ: dict[str, str]) -> str:
    done = subprocess.run(arguments, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout
