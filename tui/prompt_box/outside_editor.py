"""The person's own editor, to which the terminal is lent meanwhile: for the prompt, and for a file."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from textual.app import App, SuspendNotSupported

from quorum.application.cancellation import run_shielded
from quorum.application.program_lookup import explain_missing, filter_environment, find_program
from quorum.tui.keys.keyboard_guard import Guarded

_LAST_SECS = 2.0
_GOTO = frozenset({"code", "code-insiders", "codium", "cursor", "windsurf"})
"""Editors that take `--goto FILE:LINE`; those of terminals take `+LINE FILE`."""
_USUAL = ("sensible-editor", "editor", "nano", "vim", "vi")


class EditorFailed(Exception):
    """Nothing came back from the editor; the text says why, for the status bar."""


def find_editor_command(environ: Mapping[str, str], workspace: Path) -> list[str]:
    """The words that start the editor: of $VISUAL, else of $EDITOR, else a usual one. Raises EditorFailed.

    One that is named without its folder is none of the workspace.
    """
    path, closed = environ.get("PATH"), (str(workspace),)
    for name in ("VISUAL", "EDITOR"):
        if text := environ.get(name, "").strip():
            try:
                first, *rest = shlex.split(text)
            except ValueError as error:
                raise EditorFailed(f"${name} cannot be understood: {str(error).lower()}") from error
            if os.path.isabs(first):
                return [first, *rest]
            if (found := find_program(first, path, closed)) is None:
                raise EditorFailed(f"the editor of ${name}: {explain_missing(first, path, closed)}")
            return [found, *rest]
    found = next((each for name in _USUAL if (each := find_program(name, path, closed))), None)
    if found is None:
        raise EditorFailed("no editor was found; name yours in $VISUAL or $EDITOR")
    return [found]


async def edit_in_editor(
    app: App[None],
    text: str,
    *,
    workspace: Path,
    environ: Mapping[str, str] = os.environ,
    name: str = "prompt.md",
) -> str:
    """The text as the person leaves it in their editor, in a file of that name. Raises EditorFailed where
    nothing came back.

    The app keeps running but draws nothing. What was written but cannot be read is kept where it says.
    """
    command = find_editor_command(environ, workspace)
    program = os.path.basename(command[0])
    folder = Path(tempfile.mkdtemp(prefix="quorum-"))  # the editor's own copies are as private as the file
    file = folder / name
    keep = False
    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as draft:
            draft.write(text.encode("utf-8", "surrogatepass"))
        with _lend_terminal(app):
            status = await _run([*command, str(file)])
        if status:
            raise EditorFailed(f"{program} ended with {_describe_status(status)}; the draft is as it was")
        try:
            edited = file.read_bytes().decode("utf-8")
        except UnicodeDecodeError as error:
            keep = True
            raise EditorFailed(f"what was written is not UTF-8 text; it is kept in {file}") from error
        except OSError as error:
            raise EditorFailed("the editor left no file; the draft is as it was") from error
    except OSError as error:
        raise EditorFailed(f"{program} could not be used: {error.strerror or error}") from error
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    return edited.removesuffix("\n") if not text.endswith("\n") else edited


async def open_in_editor(
    app: App[None], path: str, line: int, *, workspace: Path, environ: Mapping[str, str] = os.environ
) -> None:
    """Open a file, named by its absolute path, at a line counted from 1; 0 is none. Returns once the editor has
    ended. Raises EditorFailed where it could not be used."""
    command = find_editor_command(environ, workspace)
    name = os.path.basename(command[0])
    if name in _GOTO:
        place = ["--goto", f"{path}:{line}" if line else path]
    else:
        place = [f"+{line}", path] if line else [path]
    try:
        with _lend_terminal(app):
            status = await _run([*command, *place])
    except OSError as error:
        raise EditorFailed(f"{name} could not be used: {error.strerror or error}") from error
    if status:
        raise EditorFailed(f"{name} ended with {_describe_status(status)}")


def _describe_status(status: int) -> str:
    return f"status {status}" if status > 0 else f"signal {-status}"


async def _run(command: list[str]) -> int:
    """The exit status of a command that has the terminal. It does not outlive whoever waits for it."""
    process = await asyncio.create_subprocess_exec(*command, env=filter_environment(os.environ))  # noqa: TID251 - it has no pipes but the terminal
    try:
        return await process.wait()
    finally:
        await run_shielded(_end(process))


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ask it to end, and kill it where it does not; at once where the loop ends and cancels this as well."""
    try:
        if process.returncode is None:
            with suppress(ProcessLookupError, TimeoutError):
                process.terminate()
                async with asyncio.timeout(_LAST_SECS):
                    await process.wait()
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


@contextmanager
def _lend_terminal(app: App[None]) -> Iterator[None]:
    """Nothing of the app reaches the terminal in here, and an interruption there means the editor alone."""
    try:
        with app.suspend(), _silence(app):
            former = signal.signal(signal.SIGINT, lambda *_: None)
            try:
                yield
            finally:
                signal.signal(signal.SIGINT, former)
    except SuspendNotSupported as error:
        raise EditorFailed("there is no terminal here to lend to an editor") from error
    if isinstance(app.screen, Guarded):  # what is asked may have come up unseen
        app.screen.arm()


@contextmanager
def _silence(app: App[None]) -> Iterator[None]:
    """The app continues drawing as ever, to nobody: all of it is drawn anew afterwards."""
    driver = app._driver
    if driver is None:
        yield
        return
    former = driver.write
    driver.write = lambda data: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        driver.write = former  # type: ignore[method-assign]
