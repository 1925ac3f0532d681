"""The entry point: reads the command line, composes what it asks for, and gives the process its exit code.

The only module of the front ends that sees infrastructure. Nothing heavy is imported before it is needed:
`--version` imports nothing, and the app paints its first frame before settings, tools and SDKs are loaded.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from application.ports import Observer, Person
    from application.run_agent import RunAgent
    from domain.events import Event
    from infrastructure.config.loading import LoadedSettings
    from infrastructure.container import Container
    from tui.command_line import Options

USAGE = 2
CHECK_CODES = {"allow": 0, "deny": 1, "ask": 3}  # of `quorum permissions check`
CLOSED_PIPE = 128 + 13  # what a shell reports for a process ended by SIGPIPE


def main(argv: Sequence[str] | None = None) -> None:
    """Run what the command line asks for and exit the process with its code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments == ["--version"]:
        from tui.version import __version__

        print(f"quorum {__version__}")
        return
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output had enough; the interpreter must not try to flush again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = CLOSED_PIPE
    sys.exit(code)


def _dispatch(arguments: Sequence[str]) -> int:
    from tui.command_line import parse

    options = parse(arguments)
    try:
        root = _working_directory(options)
        if options.command == "app":
            return _run_app(options, root)
        return _run_command(options, root)
    except _UsageError as error:
        return _refuse(error)


def _run_command(options: Options, root: Path) -> int:
    from domain.errors import ConfigError, ProviderError

    try:
        match options.command:
            case "run":
                return _run_headless(options, root)
            case "config":
                return _config(options, root)
            case "hooks":
                return _hooks(options, root)
            case "permissions":
                return _permissions(options, root)
            case _:
                return _doctor(options, root)
    except (ConfigError, ProviderError) as error:  # a provider fails here only for want of a key or a name
        return _refuse(error)


class _UsageError(Exception):
    """The command line asks for something that cannot be; raised before the domain's errors are loaded."""


def _working_directory(options: Options) -> Path:
    try:
        root = options.workdir.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise _UsageError(f"cannot work in {options.workdir}: {error}; name a folder with --workdir") from error
    if not root.is_dir():
        raise _UsageError(f"cannot work in {options.workdir}: it is not a folder; name one with --workdir")
    return root


def _refuse(error: Exception) -> int:
    _complain(str(error))
    return USAGE


def _complain(sentence: str) -> None:
    from tui.transcript.printable import printable

    print(f"quorum: {printable(sentence)}", file=sys.stderr)


# -------------------------------------------------------------------- composition


def _load(options: Options, root: Path) -> LoadedSettings:
    from infrastructure.config.loading import load_settings
    from infrastructure.config.model_choice import model_overrides

    return load_settings(
        cwd=root,
        environ=os.environ,
        config_file=options.config_file,
        overrides={**model_overrides(options.models), **options.overrides},
    )


def _compose(loaded: LoadedSettings, root: Path, person: Person, observer: Observer) -> Container:
    """A session, complete but for what is loaded on first use. Raises ConfigError and ProviderError."""
    from threading import Thread

    from infrastructure.config.model_choice import decision_model
    from infrastructure.container import Container
    from infrastructure.process_privacy import close_process_to_inspection

    close_process_to_inspection()
    container = Container(
        settings=loaded.settings,
        model=decision_model(loaded, os.environ),
        root=root,
        environ=os.environ,
        config_files=loaded.files,
        origins=loaded.origins,
        person=person,
        observer=observer,
    )
    container.session()  # a missing key is told now, not at the first prompt
    container.rules()  # and so is a damaged file of saved rules
    container.spec()  # and so are tools that cannot be had
    Thread(target=_warm_up, args=(container,), name="warm-up", daemon=True).start()
    return container


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


# -------------------------------------------------------------------- headless


def _run_headless(options: Options, root: Path) -> int:
    import asyncio

    gc.disable()  # until everything is imported
    prompt = _prompt(options)
    loaded = _load(options, root)
    for warning in loaded.warnings:
        _complain(warning)
    return asyncio.run(_answer(options, root, loaded, prompt))


async def _answer(options: Options, root: Path, loaded: LoadedSettings, prompt: str) -> int:
    from tui.headless import HeadlessPrinter, Nobody, run_headless

    printer = HeadlessPrinter(options.output, quiet=options.quiet, verbose=options.verbose)
    container = _compose(loaded, root, Nobody(), printer)
    for warning in container.saved_rules().warnings:
        _complain(warning)
    try:
        return await run_headless(container.run_agent(), prompt, printer)
    finally:
        await container.gateway().aclose()


def _prompt(options: Options) -> str:
    prompt = options.prompt or ""
    if prompt == "-":
        prompt = sys.stdin.read() if sys.stdin else ""  # None where it is closed
    if not prompt.strip():
        raise _UsageError("the prompt is empty; say what to do, or - to read it from stdin")
    return prompt


# -------------------------------------------------------------------- the full-screen app


def _run_app(options: Options, root: Path) -> int:
    if problem := _terminal_problem():
        raise _UsageError(problem)
    import asyncio

    os.environ.setdefault("ESCDELAY", "25")  # milliseconds; Textual reads it when it is imported
    gc.disable()  # imports make much that lives on; the app collects again once its agent is composed
    return asyncio.run(_show_app(options, root))


def _terminal_problem() -> str | None:
    if not (sys.stdin and sys.stdin.isatty() and sys.stdout and sys.stdout.isatty()):
        return "the full-screen app needs a terminal; without one use: quorum run PROMPT"
    if os.environ.get("TERM", "") in {"", "dumb"}:
        return "this terminal is a dumb one (TERM); use another, or: quorum run PROMPT"
    return None


async def _show_app(options: Options, root: Path) -> int:
    import asyncio

    from tui.app import QuorumApp
    from tui.terminal_input import survive_bytes_that_are_no_text

    survive_bytes_that_are_no_text()
    composed: list[Container] = []
    checks: list[asyncio.Task[None]] = []

    def compose(person: Person, observer: Observer) -> LoadedSettings:
        """Runs in a thread while the screen is already up: most of what is imported is imported here."""
        loaded = _load(options, root)
        composed.append(_compose(loaded, root, person, observer))
        return loaded

    async def compose_agent(person: Person, observer: Observer) -> RunAgent:
        loaded = await asyncio.to_thread(compose, person, observer)
        app.adopt(theme=loaded.settings.tui.theme, notifications=loaded.settings.tui.notifications)
        agent: RunAgent = composed[0].run_agent()
        await agent.open()
        checks.append(asyncio.create_task(_tell_sandbox(composed[0])))
        _tell((*loaded.warnings, *composed[0].saved_rules().warnings), observer)
        return agent

    app = QuorumApp(compose_agent, cwd=root, initial_prompt=options.prompt)
    try:
        await app.run_async()
    finally:
        for container in composed:
            await container.gateway().aclose()
    return app.return_code or 0


async def _tell_sandbox(container: Container) -> None:
    """Found out beside everything else: trying the sandbox takes a moment, and nothing waits for it."""
    from domain.events import SandboxChecked
    from domain.sandbox import SandboxOn

    state = await container.sandbox().state()
    await container.events().record(SandboxChecked(on=isinstance(state, SandboxOn), told=state.told))


def _tell(warnings: Sequence[str], observer: Observer) -> None:
    from domain.events import ErrorOccurred

    for warning in warnings:
        observer.notify(ErrorOccurred(message=warning))


# -------------------------------------------------------------------- configuration and diagnosis


def _config(options: Options, root: Path) -> int:
    from infrastructure.config.paths import locate, user_file
    from infrastructure.config.reference import write_reference
    from infrastructure.config.report import check, config_path, show

    match options.action:
        case "path":
            print(config_path(locate(cwd=root, environ=os.environ, config_file=options.config_file)))
        case "init":
            target = options.config_file or user_file(os.environ)
            if target is None:
                raise _UsageError("there is no home folder; name the file to write with --config")
            print(f"wrote {write_reference(target)}")
        case "check":
            print(check(_load(options, root), os.environ))
        case _:
            print(show(_load(options, root)))
    return 0


def _hooks(options: Options, root: Path) -> int:
    import asyncio
    import json

    from domain.errors import ConfigError
    from infrastructure.building_blocks import key_names
    from infrastructure.hooks.registrations import hook_registrations
    from infrastructure.hooks.trial import find_registration, try_hook

    assert options.call_file is not None
    try:
        call = json.loads(options.call_file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{options.call_file} cannot be read as JSON: {error}") from error
    if not isinstance(call, dict):
        raise ConfigError(f"{options.call_file} must hold one JSON object, the call")
    settings = _load(options, root).settings
    registrations = hook_registrations(
        settings.hooks, workspace=root, environ=os.environ, secret_names=key_names(settings)
    )
    print(asyncio.run(try_hook(find_registration(registrations, options.hook), call)))
    return 0


def _permissions(options: Options, root: Path) -> int:
    import asyncio

    from domain.errors import ConfigError
    from infrastructure.permissions.in_force import rule_file
    from infrastructure.permissions.trial import listing, numbered

    loaded = _load(options, root)
    for warning in loaded.warnings:
        _complain(warning)
    container = _undecided(loaded, root)
    for warning in container.saved_rules().warnings:
        _complain(warning)
    file = rule_file(os.environ)
    saved = file.rules() if file is not None else ()
    match options.action:
        case "check":
            return asyncio.run(_check_call(options, container))
        case "list":
            print(listing(container.rules().rules, saved))
        case _:
            if file is None:
                raise ConfigError("there is no home folder, and so there are no saved rules")
            chosen = numbered(options.number, saved)
            asyncio.run(file.remove(chosen.saved))
            print(f"removed {chosen.saved.rule.id}")
    return 0


def _undecided(loaded: LoadedSettings, root: Path) -> Container:
    """A session that is only looked at: nobody is asked, and no model is needed."""
    from infrastructure.container import Container
    from tui.headless import Nobody

    return Container(
        settings=loaded.settings,
        model="",
        root=root,
        environ=os.environ,
        config_files=loaded.files,
        origins=loaded.origins,
        person=Nobody(),
        observer=_Unheard(),
    )


class _Unheard:
    """Nobody hears what happens."""

    def notify(self, event: Event) -> None:
        """Take no note."""


async def _check_call(options: Options, container: Container) -> int:
    from infrastructure.permissions.trial import try_call

    answer, account = await try_call(
        options.tool,
        options.arguments,
        tools=container.tools(),
        schema=container.schema(),
        review=container.review(),
        rules=container.rules().rules,
        roots=container.paths().roots,
    )
    print(account)
    return CHECK_CODES[answer.value]


def _doctor(options: Options, root: Path) -> int:
    import asyncio

    from domain.errors import ConfigError
    from infrastructure.doctor.diagnosis import diagnose
    from infrastructure.doctor.finding import render_findings

    loaded: LoadedSettings | ConfigError
    try:
        loaded = _load(options, root)
    except ConfigError as error:  # one finding among others: that is what a doctor is for
        loaded = error
    findings = asyncio.run(diagnose(loaded, os.environ, probe=options.probe))
    print(render_findings(findings))
    return int(any(finding.state == "fail" for finding in findings))


if __name__ == "__main__":
    main()
