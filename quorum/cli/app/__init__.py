"""`quorum`: the full-screen app."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from quorum.command_line import shared
from quorum.command_line.command import ArgumentGroup, CliCommand, argument, flag
from quorum.command_line.options import SessionOptions
from quorum.command_line.values import parse_descriptor, parse_session_name, refuse_value
from quorum.domain.text.pattern import compile_once
from quorum.errors import RestartedCommand, UsageError
from quorum.version import __version__

_SIZE = r"([0-9]{1,4})[x×]([0-9]{1,4})"
_USUAL_SIZE, _LEAST, _MOST = (80, 24), (10, 5), (500, 300)


@dataclass(frozen=True, slots=True, kw_only=True)
class AppOptions(SessionOptions):
    """What `quorum` was asked without a command.

    It listens at the socket `listen`, None: nowhere; `headless`: without a terminal, on a screen of `size`, in
    columns and lines. `listen_approve` is the descriptor for the token that approving over the socket takes,
    None: nobody approves over it. `demo` is the guided tour.
    """

    prompt: str | None = None
    demo: bool = False
    listen: Path | None = None
    headless: bool = False
    size: tuple[int, int] | None = None
    listen_approve: int | None = None

    @property
    def screen_size(self) -> tuple[int, int] | None:
        """The size of the screen where there is no terminal that has one."""
        return (self.size or _USUAL_SIZE) if self.headless else None

    @property
    def needs_folder(self) -> bool:
        """The tour has a folder of its own."""
        return not self.demo

    def find_conflict(self) -> str:
        """Which options do not go together, in a sentence; empty where all do."""
        if conflict := SessionOptions.find_conflict(self):
            return conflict
        asks_more = self.listen or self.continues or self.resume is not None or self.prompt or self.models
        if self.demo and asks_more:
            return "--demo is a tour of its own: no session, prompt, model or socket goes with it"
        if self.listen is None and (self.headless or self.listen_approve is not None):
            return "--headless and --listen-approve go with --listen SOCKET"
        if self.size is not None and not self.headless:
            return "--size goes with --headless; with a terminal its size counts"
        return ""


def run_app(options: AppOptions, root: Path) -> int:
    """Show the app, or the tour, until it is left; the exit code. Raises UsageError where that cannot be."""
    if options.demo:
        from quorum.cli.app.demo import run_demo

        return run_demo(options)
    from quorum.app.handing_over import take_over, wait_outside

    carried = take_over()
    if options.continues or options.resume:
        from quorum.starting import stay_staged

        options = stay_staged(options, root)
    if options.overrides.get("review.mode") == "staged":
        from quorum.starting import enter_layer

        try:
            wait_outside()
            enter_layer(root, options.resume or "")  # before anything else begins
        except UsageError as refused:
            if carried:
                raise _go_on_outside(options, root, carried, str(refused)) from refused
            raise
    from quorum.app.terminal import take_terminal

    with take_terminal(
        headless=options.headless, overrides=options.overrides, root=str(root), carried=carried
    ) as early_prompt:
        from quorum.cli.app.full_screen import show_app

        return show_app(options, root, early_prompt, carried)


def _go_on_outside(options: AppOptions, root: Path, carried: bytes, refusal: str) -> RestartedCommand:
    """What has another process take over in the folder itself, where the layer was refused: nothing of what is
    `carried` stands anywhere else."""
    from quorum.cli.app.restarting import render_arguments
    from quorum.tui.keys.choices import CYCLED_MODES
    from quorum.tui.keys.keyed_app import Restart
    from quorum.tui.tabs.carrying import note_refusal

    restart = Restart(CYCLED_MODES[0], options.resume or "")
    return RestartedCommand(render_arguments(options, root, restart), note_refusal(carried, refusal))


def _parse_size(text: str) -> tuple[int, int]:
    found = compile_once(_SIZE).fullmatch(text)
    size = (int(found[1]), int(found[2])) if found else (0, 0)
    if not all(least <= each <= most for each, least, most in zip(size, _LEAST, _MOST, strict=True)):
        raise refuse_value(f"{text!r} is not a size from 10x5 to 500x300, such as 120x40")
    return size


_CONTINUED = ArgumentGroup(
    (
        shared.CONTINUE,
        argument(
            shared.RESUME,
            metavar="ID",
            nargs="?",
            const="",
            type=lambda text: parse_session_name(text) if text else "",
            help="continue this session; without an ID, choose one (then put -- before a prompt)",
        ),
    ),
    is_exclusive=True,
)
_LISTENING = ArgumentGroup(
    (
        argument(
            "--listen",
            metavar="SOCKET",
            type=Path,
            help="accept JSON-RPC requests on this Unix socket, only from your own processes",
        ),
        flag("--headless", help="with --listen: without a terminal"),
        argument(
            "--size",
            metavar="COLSxLINES",
            type=_parse_size,
            help="with --headless: the size of the screen; default 80x24",
        ),
        argument(
            "--listen-approve",
            metavar="FD",
            type=parse_descriptor,
            help="with --listen: allow approval with a token, which is written to this open pipe or socket",
        ),
    ),
    title="remote control",
    description="see docs/remote-control.md",
)
COMMAND = CliCommand(
    AppOptions,
    run_app,
    is_full_screen=True,
    is_long_lived=True,
    summary="A full-screen coding agent in which every risky action is reviewed.",
    details='A prompt of several words needs quotes; a prompt that is the name of a command: quorum -- "run".',
    arguments=(
        _CONTINUED,
        shared.FORK,
        *shared.MODELS,
        shared.MODE,
        shared.SCOPE,
        *shared.CONSENSUS,
        *shared.LIMITS,
        shared.FOLDERS,
        argument(
            "--screen-reader",
            dest="tui.screen_reader",
            action="store_const",
            const=True,
            help="linear mode for screen readers; see also: quorum run",
        ),
        flag("--demo", help="a guided tour, offline, in a temporary folder"),
        *shared.list_places(quiet=shared.QUIET_APP),
        shared.SAFE,
        shared.DEBUG,
        argument(
            "-V", "--version", action="version", version=f"quorum {__version__}", help="print the version"
        ),
        _LISTENING,
        argument("prompt", metavar="PROMPT", nargs="?", help="the first prompt"),
    ),
    examples=(
        ('quorum "explain src/retry.py"', "open the app in the current folder, with a first prompt"),
        ("quorum --continue", "resume the latest session of this folder"),
        ("quorum -m openai/gpt-5.4 --mode read-only", "another model, which may only read"),
        ('quorum run "why does test_retry fail?"', "no screen: the answer on stdout"),
        ("quorum doctor", "check keys, models, sandbox and terminal"),
    ),
)
