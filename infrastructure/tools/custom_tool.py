"""A tool that the person declared: its definition, its seal and its run."""

from __future__ import annotations

import asyncio
import codecs
import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from quorum.application.calls.outputs import attach_whole_output, store_whole
from quorum.application.cancellation import run_shielded
from quorum.application.ports.storage import Spill
from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import Seal, ToolExecutionContext
from quorum.domain.calls.summary import describe_structure, is_long
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from quorum.domain.errors import ConfigError, ToolError
from quorum.domain.replacing import replace
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.output import Printed, Spilled, Stored, Structured, ToolOutput
from quorum.infrastructure.config.command_template import (
    CommandTemplate,
    CustomParameter,
    CustomToolDeclaration,
)
from quorum.infrastructure.execution.commands.environment import (
    build_command_environment,
    list_remarks,
    name_signal,
)
from quorum.infrastructure.execution.commands.output import BoundedText, CommandOutput, LiveOutput, Overflow
from quorum.infrastructure.execution.commands.process import Ending, SupervisedProcess
from quorum.infrastructure.execution.commands.sealing import (
    find_declared_program,
    require_unchanged,
    seal_arguments,
)
from quorum.infrastructure.execution.sandbox.confinement import Confinement, Launch
from quorum.infrastructure.execution.sandbox.sandbox import Sandbox
from quorum.infrastructure.tools.builtin.run_command import DEFAULT_OUTPUT_BYTES

_TAIL_BYTES = 4000


class ExactOutput:
    """Standard output as it was printed, within `limit` bytes; bytes that are no UTF-8 are replaced.

    Once it is more, `overflow` gets all of it, from the beginning on.
    """

    def __init__(self, limit: int, overflow: Overflow | None = None) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._kept = BoundedText(limit, overflow)

    @property
    def overflows(self) -> bool:
        """Whether there was more than is kept."""
        return self._kept.overflows

    def overflow_now(self) -> None:
        """Give `overflow` what there is, though it would be kept: less than that is going to be shown."""
        self._kept.overflow_now()

    def feed(self, data: bytes) -> None:
        """Take what was printed."""
        self._kept.append(self._decoder.decode(data))

    def close(self) -> str:
        """The whole text, within the limit. Nothing may be fed afterwards."""
        self._kept.append(self._decoder.decode(b"", final=True))
        return self._kept.join()


class CustomOutput:
    """Both streams of a custom tool, each kept within `limit` bytes; what is more goes whole into a spill."""

    def __init__(self, limit: int, open_spill: Callable[[], Spill] | None) -> None:
        self._output_spill = open_spill() if open_spill is not None else None
        self._error_spill = open_spill() if open_spill is not None else None
        self.output = ExactOutput(limit, self._output_spill)
        self.errors = CommandOutput(limit, self._error_spill)

    def discard(self) -> None:
        """Give up what was spilled."""
        for spill in (self._output_spill, self._error_spill):
            if spill is not None:
                spill.discard()

    def build_result(self, ending: Ending, *, timeout_secs: int) -> str | Printed | Spilled:
        """Exactly the standard output of a program that exited with 0. Blocks where it is put into the store.

        Raises ToolError, with the end of standard error, or of standard output where there is none, for every
        other ending, and where processes are left that could not be ended. All that such an end leaves out is
        in the store.
        """
        output, errors = self.output.close(), self.errors.close().text
        problem = _find_problem(ending, timeout_secs)
        if problem is None:
            if self._output_spill is None or not self.output.overflows:
                return output
            return store_whole(self._output_spill, Printed(output))
        if errors.strip():
            error = _build_error(problem, "standard error", errors, ending)
            return self._raise(error, errors, self.errors, self._error_spill)
        error = _build_error(problem, "standard output", output, ending)
        return self._raise(error, output, self.output, self._output_spill)

    def _raise(
        self, error: ToolError, text: str, stream: ExactOutput | CommandOutput, spill: Spill | None
    ) -> NoReturn:
        if spill is None or not is_long(text, _TAIL_BYTES):
            raise error
        stream.overflow_now()
        raise attach_whole_output(spill, error)


def read_json_output(text: str, notes: Sequence[str] = ()) -> ToolOutput:
    """Return what a program printed as the JSON that it is declared to be; what is none, as text that says so.

    `notes` follow it: they are the summary of a value that is stored for them.
    """
    try:
        value: JsonValue = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        return Printed("\n".join([f"[declared to print JSON, but this is none: {reason}]", text, *notes]))
    if not notes:
        return Structured(value)
    return Stored(Structured(value), summary="\n".join([describe_structure(value), *notes]))


def _refuse_constant(name: str) -> JsonValue:
    raise ValueError(f"{name} is no JSON")


def _build_error(problem: str, stream: str, text: str, ending: Ending) -> ToolError:
    said = f"the end of its {stream}:\n{_cut_to_tail(text)}" if text.strip() else "it printed nothing"
    return ToolError("\n".join([f"{problem}; {said}", *list_remarks(ending)]))


def _find_problem(ending: Ending, timeout_secs: int) -> str | None:
    if ending.failure is not None:
        return f"the program could not be started: {ending.failure}"
    if ending.timed_out:
        return f"the program was ended after {timeout_secs} s, its time limit"
    if ending.exit_code is None:
        return "how the program ended is not known"
    if ending.exit_code < 0:
        return f"the program was killed by {name_signal(-ending.exit_code)}"
    if ending.exit_code > 0:
        return f"the program failed with exit code {ending.exit_code}"
    return "the program exited with 0, but processes that it started live on" if ending.left else None


def _cut_to_tail(text: str) -> str:
    data = text.strip("\n").encode("utf-8", "replace")
    return data[-_TAIL_BYTES:].decode(errors="ignore")


_PROGRESS_BYTES = 16384


class CustomTool:
    """Runs the declared program in the root, with null standard input and without our keys, until it and all
    it started have ended.

    `resources` answers what a path inside the workspace stands for, as an access names it, and raises
    ToolError for one outside. `secret_names` are variables the program must not see, besides those whose
    names say so. `sandbox` holds a tool that is declared for it to its bounds.
    """

    def __init__(
        self,
        declaration: CustomToolDeclaration,
        *,
        root: Path,
        resources: Callable[[str], Collection[str]],
        max_output_bytes: int = DEFAULT_OUTPUT_BYTES,
        secret_names: Collection[str] = (),
        inherited: Mapping[str, str] = os.environ,
        sandbox: Sandbox | None = None,
        open_spill: Callable[[], Spill] | None = None,
    ) -> None:
        """Raises ConfigError where command and parameters do not fit each other."""
        self._declaration = declaration
        self._template = CommandTemplate(declaration.command, declaration.parameters)
        self._root = root
        self._resources = resources
        self._max_output_bytes = max_output_bytes
        self._secret_names = frozenset(secret_names)
        self._inherited = inherited
        self._sandbox = sandbox if declaration.sandbox else None
        self._open_spill = open_spill

    @property
    def definition(self) -> ToolDefinition:
        """As declared; alone while it runs, for nobody can tell what a program touches."""
        return ToolDefinition(
            name=self._declaration.name,
            description=self._declaration.description,
            parameters=tuple(map(_build_parameter, self._declaration.parameters)),
            risk=self._declaration.risk,
            access=self._determine_access,
            inline_bytes=self._declaration.inline_bytes,
            summary_bytes=self._declaration.summary_bytes,
        )

    async def seal(self, arguments: JsonObject, projected: Mapping[str, bytes]) -> Seal:
        """The program, its words, the workspace files among them and its environment as they are now.

        Raises ToolError for arguments that cannot be used, where there is no such program, and where a
        required sandbox is not to be had.
        """
        return await asyncio.to_thread(lambda: self._seal(arguments, projected, self._build_confinement()))

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str | ToolOutput:
        """Run it; the output is exactly what it printed, as text or JSON, and what there is to say of protected
        paths that it made in the sandbox. More output than is kept goes whole into the store, as text.

        Raises ToolError, with the end of what it printed, unless it exited with 0; StaleSeal where it is no
        longer what was approved. CancelledError passes once nothing of it is alive.
        """
        launch, environment = await asyncio.to_thread(self._launch, arguments, context.controls.seal)
        return await self._run(launch, environment, context)

    async def _run(
        self, launch: Launch, environment: Mapping[str, str], context: ToolExecutionContext
    ) -> str | ToolOutput:
        timeout_secs = self._declaration.timeout_secs
        printed = CustomOutput(self._max_output_bytes, self._open_spill)
        live = LiveOutput(CommandOutput(_PROGRESS_BYTES), context.controls.report)

        def on_output(data: bytes) -> None:
            printed.output.feed(data)
            live.feed(data)

        def on_errors(data: bytes) -> None:
            printed.errors.feed(data)
            live.feed(data)

        try:
            process = SupervisedProcess(
                launch.argv,
                cwd=self._root,
                environment=environment,
                timeout_secs=timeout_secs,
                on_output=on_output,
                on_errors=on_errors,
                keys=launch.keys,
                proxy=launch.proxy,
                owner=context.batch_id,
            )
        except OSError as error:
            launch.close_home()
            raise ToolError(f"the program could not be started: {error}") from error
        notes: list[str] = []
        try:
            ending = await process.wait()
        except BaseException:
            printed.discard()
            raise
        finally:
            live.close()
            for host in launch.asked_hosts:
                context.controls.note_host(host)
            notes += await run_shielded(asyncio.to_thread(_finish, launch, context.controls.was_asked))
        ending = replace(ending, ended=launch.count_background(ending.ended))
        try:
            output = await asyncio.to_thread(printed.build_result, ending, timeout_secs=timeout_secs)
            if self._declaration.output == "json" and isinstance(output, str):
                return await asyncio.to_thread(read_json_output, output, notes)
            return _add_notes(output, notes)
        except ToolError as error:
            remarks = await asyncio.to_thread(launch.list_remarks, ending.exit_code, str(error))
            message = "\n".join([str(error), *remarks, *notes])
            raise ToolError(message, output=error.output and replace(error.output, text=message)) from error
        finally:
            printed.discard()

    def _build_confinement(self) -> Confinement:
        return self._sandbox.confine() if self._sandbox is not None else Confinement()

    def _launch(self, arguments: JsonObject, approved: Seal | None) -> tuple[Launch, Mapping[str, str]]:
        """The line to run and its environment, if it is still what was approved."""
        confinement = self._build_confinement()
        argv, environment = self._build_argv(arguments, confinement)
        if approved is not None:
            require_unchanged(approved, self._seal(arguments, {}, confinement))
        launch = confinement.launch(argv, cwd=self._root, environment=environment, keeps_home=True)
        return launch, environment

    def _build_argv(
        self, arguments: JsonObject, confinement: Confinement
    ) -> tuple[tuple[str, ...], Mapping[str, str]]:
        """The program by its absolute path and its arguments, and its environment. Looks at files."""
        self._resolve_resources(arguments)
        name, *words = self._template.fill_words(arguments)
        given = build_command_environment(self._inherited, self._secret_names)
        try:
            argv, environment = find_declared_program(
                name, words, given, cwd=self._root, is_confined=confinement.is_confined
            )
        except ToolError as error:
            raise ToolError(
                f"{error}; the person can correct tools.custom.{self._declaration.name}.command"
            ) from error
        return argv, environment

    def _seal(self, arguments: JsonObject, projected: Mapping[str, bytes], confinement: Confinement) -> Seal:
        argv, environment = self._build_argv(arguments, confinement)
        return seal_arguments(
            argv,
            named=self._list_paths(arguments),
            root=self._root,
            inherited=self._inherited,
            environment=environment,
            projected=projected,
            sandbox=confinement.description,
        )

    def _determine_access(self, arguments: JsonObject) -> Access:
        """Exclusive, with the paths among the arguments, so that rules about paths speak of them too."""
        paths = self._resolve_resources(arguments)
        writes = paths if self._declaration.risk is RiskLevel.HIGH else frozenset[str]()
        return Access(reads=paths, writes=writes, exclusive=True)

    def _resolve_resources(self, arguments: JsonObject) -> frozenset[str]:
        """What the arguments that are paths stand for. Raises ToolError for one outside the workspace."""
        return frozenset().union(*map(self._resources, self._list_paths(arguments)))

    def _list_paths(self, arguments: JsonObject) -> tuple[str, ...]:
        values = (arguments.get(each.name) for each in self._declaration.parameters if each.type == "path")
        return tuple(value for value in values if isinstance(value, str))


def build_custom_tools(
    declarations: Iterable[CustomToolDeclaration],
    *,
    root: Path,
    resources: Callable[[str], Collection[str]],
    max_output_bytes: int = DEFAULT_OUTPUT_BYTES,
    secret_names: Collection[str] = (),
    sandbox: Sandbox | None = None,
    open_spill: Callable[[], Spill] | None = None,
) -> tuple[CustomTool, ...]:
    """The declared tools. Raises ConfigError that names the one whose command and parameters do not fit."""
    tools: list[CustomTool] = []
    for declaration in declarations:
        try:
            tool = CustomTool(
                declaration,
                root=root,
                resources=resources,
                max_output_bytes=max_output_bytes,
                secret_names=secret_names,
                sandbox=sandbox,
                open_spill=open_spill,
            )
        except ConfigError as error:
            raise ConfigError(f"tools.custom.{declaration.name}: {error}") from error
        tools.append(tool)
    return tuple(tools)


def _finish(launch: Launch, was_asked: bool) -> list[str]:
    """What there is to say of what the program made, once it has ended. Blocks."""
    return [*launch.finish(was_asked=was_asked), *launch.close_home()]


def _add_notes(output: str | Printed | Spilled, notes: Sequence[str]) -> str | ToolOutput:
    if not notes:
        return output
    if isinstance(output, str):
        return "\n".join([*([output.rstrip("\n")] if output.strip() else []), *notes])
    return replace(output, text="\n".join([output.text.rstrip("\n"), *notes]))


def _build_parameter(declared: CustomParameter) -> ToolParameter:
    return ToolParameter(
        name=declared.name,
        type=declared.type,
        description=declared.description,
        required=declared.required,
        items={"type": "string"} if declared.type == "array" else None,
    )
