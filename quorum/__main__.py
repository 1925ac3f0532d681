"""The entry point: reads the command line, hands over to what it asks for, and gives the process its exit code.

Nothing is imported before it is needed: `--version` imports nothing, and each command only its own module.
Nothing is imported before `use_own_packages` has run, but for modules that the interpreter has loaded itself.
"""

from __future__ import annotations

import os
import sys
from _frozen_importlib import module_from_spec
from _frozen_importlib_external import PathFinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

    from quorum.command_line.command import CliCommand
    from quorum.command_line.options import StartOptions
    from quorum.errors import RestartedCommand
    from quorum.run_signals import RunSignals

USAGE = 2
INTERRUPTED = 130
# They run without a screen.
_PROMPT_COMMANDS = frozenset(("run", "ask", "discuss", "debate", "review", "agent"))
_GATE_GRACE_SECS = 4.0  # what takes the call has answered before that; agents wait for 60 s


def use_own_packages() -> None:
    """Have `quorum` mean the package around this file, and look into PYTHONPATH and the working directory last.

    A project may hold a module with the name of a dependency, which Python would import in its place. Links are
    resolved, lest one that is replaced later leads elsewhere.
    """
    here = os.path.realpath(os.path.dirname(__file__))
    if (package := sys.modules.get("quorum")) is not None:
        package.__path__[:] = [here]
    else:  # this file is run by its path
        _load_package(here)
    added = {_make_absolute(place) for place in ("", *os.environ.get("PYTHONPATH", "").split(os.pathsep))}
    known = list(dict.fromkeys(map(_make_absolute, sys.path)))
    last = [place for place in known if place in added]
    sys.path[:] = [*(place for place in known if place not in last), *last]
    if sys.executable:  # its own name may be a link that says which environment it belongs to
        folder, name = os.path.split(sys.executable)
        sys.executable = os.path.join(_make_absolute(folder), name)


def _load_package(here: str) -> None:
    spec = PathFinder.find_spec("quorum", [os.path.dirname(here)])
    if spec is None or spec.loader is None:
        raise ImportError(f"{here} holds no package")
    package = sys.modules["quorum"] = module_from_spec(spec)
    spec.loader.exec_module(package)


def _make_absolute(place: str) -> str:
    try:
        return os.path.realpath(place)
    except OSError:  # the working directory was deleted
        return place


def main(argv: Sequence[str] | None = None) -> None:
    """Run what the command line asks for and exit the process with its code."""
    use_own_packages()
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        if argv is None and _is_decision(arguments) and "--resident" not in arguments:
            _end_in_time(arguments)
        code = _exit_code(arguments)
    except ImportError as error:
        print(f"quorum: {_explain_import_error(error)}", file=sys.stderr)
        code = USAGE
    except MemoryError:  # so little that nothing could say so in a better place
        print("quorum: there is not enough memory; end other programs, or raise the limit", file=sys.stderr)
        code = USAGE
    except Exception as error:
        if not _is_decision(arguments):
            raise
        code = _refuse_call(error)
    if argv is None:
        _end_process(code)
    if code:
        sys.exit(code)


def _explain_import_error(error: ImportError) -> str:
    code_change = sys.modules.get("quorum.code_change")
    if code_change is not None and code_change.is_changed_error(error):
        return str(error)
    return f"a part of quorum cannot be loaded: {error}; install quorum again"


def _end_in_time(arguments: Sequence[str]) -> None:
    """Have the kernel end this process where it hangs, before the agent that waits for it runs the call."""
    import signal

    from quorum.gate.plain_arguments import USUAL_SECS

    words = [part for word in arguments for part in (word.split("=", 1) if word.startswith("--") else (word,))]
    place = words.index("--timeout") + 1 if "--timeout" in words else len(words)
    given = "".join(words[place : place + 1])
    secs = float(given) if given.isascii() and given.isdecimal() else USUAL_SECS
    signal.setitimer(signal.ITIMER_REAL, secs + _GATE_GRACE_SECS)


def _end_process(code: int) -> None:
    """End the process here, where nothing is left to do: to free each object takes half of the time then.

    Returns where a thread still works, or where what was printed cannot be written.
    """
    if (threading := sys.modules.get("threading")) is None:
        return  # so little was loaded that the usual end is as fast
    own = threading.main_thread()
    if any(thread is not own and not thread.daemon for thread in threading.enumerate()):
        return
    import atexit

    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return  # the interpreter says so in its own way
    os._exit(code)


def _exit_code(arguments: Sequence[str]) -> int:
    signals = None
    if not _PROMPT_COMMANDS.isdisjoint(arguments):  # the command, or a word of another one: not known yet
        from quorum.run_signals import RunSignals

        signals = RunSignals(arguments)
    from quorum.standard_streams import OutputLost, abandon_output, guard_streams

    has_output = guard_streams()
    try:
        if _is_gate(arguments):
            return _run_gate(arguments)
        code = _run(arguments, signals, has_output=has_output)
        sys.stdout.flush()
    except OutputLost as lost:
        abandon_output()
        if not lost.is_closed:
            print(f"quorum: {lost}", file=sys.stderr)
        return lost.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _is_decision(arguments: Sequence[str]) -> bool:
    """Whether a caller waits for the answer; other actions of the gate take as long as the person does."""
    others = (["install"], ["uninstall"], ["status"], ["probe"])
    return arguments[:1] == ["gate"] and arguments[1:2] not in others


def _is_gate(arguments: Sequence[str]) -> bool:
    """The same, whatever options stand before the command."""
    if _is_decision(arguments) or "gate" not in arguments:
        return _is_decision(arguments)
    from quorum.command_line.words import split_command

    return split_command(arguments)[0] in (("gate",), ("gate", "decide"))


def _run_gate(arguments: Sequence[str]) -> int:
    """After a failure a code other than 2 would let the caller run what it asks about."""
    from quorum.standard_streams import OutputLost, abandon_output

    try:
        if "--tui" in arguments:
            from quorum.gate.tui_client import answer_quickly

            if (answered := answer_quickly(list(arguments))) is not None:
                return answered
        elif arguments[1:2] == ["--resident"]:
            from quorum.cli.gate.resident import serve_calls

            return serve_calls()
        else:
            from quorum.gate.resident_client import answer_quickly as ask_resident

            if (answered := ask_resident(list(arguments))) is not None:
                return answered
        code = _run(arguments, None, has_output=True)
        sys.stdout.flush()
        sys.stderr.flush()
    except OutputLost as lost:
        abandon_output()
        print(f"quorum: the caller cannot be answered: {lost}", file=sys.stderr)
        return USAGE
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - of whatever kind: the call must not run
        return _refuse_call(error)
    os._exit(
        code
    )  # all is recorded and written; to take the interpreter down costs a quarter of the whole time


def _refuse_call(error: BaseException) -> int:
    print(f"quorum: nothing was decided: {type(error).__name__}: {error}", file=sys.stderr)
    return USAGE


def _run(arguments: Sequence[str], signals: RunSignals | None, *, has_output: bool) -> int:
    if arguments in (["--version"], ["-V"], ["version"]):
        from quorum.version import __version__

        print(f"quorum {__version__}")
        return 0
    try:
        return _dispatch(arguments, signals, has_output=has_output)
    except SystemExit as stop:  # a usage message or a help text was printed
        return stop.code if isinstance(stop.code, int) else USAGE if stop.code else 0


def _dispatch(arguments: Sequence[str], signals: RunSignals | None, *, has_output: bool) -> int:
    from quorum.code_change import watch_own_code
    from quorum.errors import ForkedCommand, RestartedCommand, UsageError
    from quorum.standard_streams import release_streams
    from quorum.thread_sharing import share_interpreter, share_scarce_memory

    share_interpreter()
    share_scarce_memory()
    watch_own_code()
    try:
        if not arguments:
            return _run_app()
        return _run_asked(arguments, signals, has_output=has_output)
    except ForkedCommand as forked:
        release_streams()  # those of the parent
        sys.argv[1:] = forked.arguments
        return _exit_code(list(forked.arguments))
    except RestartedCommand as restarted:
        return _restart(restarted)
    except UsageError as error:
        return _refuse(error)
    except Exception as error:
        if _is_gate(arguments):  # the codes of other commands mean something else to its caller
            raise
        from quorum.domain.errors import OUT_OF_MEMORY, is_out_of_memory
        from quorum.starting import is_explained
        from quorum.tui.agent.opening import StartFailure

        if isinstance(error, StartFailure):
            return _refuse(error, error.exit_code)
        if is_out_of_memory(error):
            return _refuse(UsageError(OUT_OF_MEMORY))  # no report was printed: with one, it has the code
        if not is_explained(error):
            raise
        return _refuse(error)  # a provider fails here only for want of a key or a name


def _restart(restarted: RestartedCommand) -> int:
    """Become a new quorum, here or in the process that waits outside of a layer."""
    from quorum.app.handing_over import ask_outside, become, give_terminal_back
    from quorum.domain.errors import StagingError
    from quorum.infrastructure.staging.entered import find_entered

    try:
        can_continue = (layer := find_entered()) is not None and layer.leave()
    except StagingError as error:
        give_terminal_back(restarted.carried)
        return _refuse(error, 1)
    if not can_continue and ask_outside(restarted.arguments, restarted.carried):
        return 0
    return _refuse(become(restarted.arguments, restarted.carried), 1)


def _run_app() -> int:
    """The app where nothing else is asked for: it takes keys before anything more is imported."""
    from quorum.app.terminal import take_terminal
    from quorum.standard_streams import release_streams

    release_streams()
    with take_terminal() as early_prompt:
        from quorum.cli.app import AppOptions
        from quorum.cli.app.full_screen import show_app

        options = AppOptions()
        return show_app(options, _find_working_directory(options), early_prompt)


def _run_asked(arguments: Sequence[str], signals: RunSignals | None, *, has_output: bool) -> int:
    from quorum.command_line.reading import parse
    from quorum.errors import UsageError
    from quorum.standard_streams import release_streams

    path, command, options = parse(arguments)
    if signals is not None and command.answer is None:
        signals.release()
    if command.is_full_screen:
        release_streams()
    elif not has_output:
        raise UsageError("standard output is closed; send it to a file, or to /dev/null")
    if options.debug and options.needs_folder:
        from quorum.debug_log import open_debug_logging

        with open_debug_logging(" ".join(path) or "app", quiet=options.quiet):
            return _run_command(command, options, signals)
    return _run_command(command, options, signals)


def _run_command(command: CliCommand[Any], options: StartOptions, signals: RunSignals | None) -> int:
    from pathlib import Path

    root = _find_working_directory(options) if options.needs_folder else Path()
    if command.answer is not None:
        assert signals is not None  # the command is a word of the command line
        return command.answer(options, root, signals)
    if not command.is_long_lived:
        import gc

        gc.disable()  # what is imported lives on, and the command ends soon
    assert command.run is not None
    return command.run(options, root)


def _find_working_directory(options: StartOptions) -> Path:
    from pathlib import Path

    from quorum.errors import UsageError

    folder = options.workdir or Path()
    try:
        root = folder.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise UsageError(f"cannot work in {folder}: {error}; name a folder with --workdir") from error
    if not root.is_dir():
        raise UsageError(f"cannot work in {folder}: it is not a folder; name one with --workdir")
    return root


def _refuse(error: Exception, code: int = USAGE) -> int:
    from quorum.errors import complain

    complain([str(error)])
    return code


if __name__ == "__main__":
    main()
