from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import sys
from pathlib import Path

import pytest

from quorum.application.ports.tools import SealingTool
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.errors import ConfigError, StaleSeal, ToolError
from quorum.domain.review.decision import decide
from quorum.domain.review.mode import Mode
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.review.permission_rules import Answer, Subject
from quorum.domain.text.output import Printed, Structured
from quorum.infrastructure.config.command_template import CustomParameter, CustomToolDeclaration
from quorum.infrastructure.files.workspace import Workspace
from quorum.infrastructure.tools.custom_tool import CustomTool, build_custom_tools
from quorum.infrastructure.tools.json_schema import JsonSchema
from tests.infrastructure.commands.command_bench import Daemon, RecordingControls, context_with, eventually


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "workspace"
    folder.mkdir()
    return folder


def a_tool(root: Path, *command: str, risk: RiskLevel = RiskLevel.HIGH, timeout_secs: int = 60, **options):
    types = options.pop("types", {})
    declaration = CustomToolDeclaration(
        name="mine",
        description="Does it",
        command=command,
        parameters=tuple(CustomParameter(name=n, type=t, description=n) for n, t in types.items()),
        risk=risk,
        timeout_secs=timeout_secs,
        output=options.pop("output", "text"),
    )
    workspace = Workspace([root])
    return CustomTool(declaration, root=root, resources=lambda p: workspace.locate(p).resources, **options)


def a_program(name: str) -> tuple[str, str]:
    found = shutil.which(name)
    assert found is not None
    return found, os.path.realpath(found)


async def run(tool: CustomTool, controls: RecordingControls | None = None, **arguments) -> str:
    return await tool.execute(arguments, context_with(controls or RecordingControls()))


def a_script(root: Path, text: str, name: str = "script.py") -> str:
    (root / name).write_text(text)
    return name


def test_a_declared_tool_is_described_to_the_model_like_any_other(root: Path):
    declaration = CustomToolDeclaration(
        name="find_todo",
        description="Finds it",
        command=("grep", "{word}", "{files}"),
        parameters=(
            CustomParameter(name="word", description="What", required=True),
            CustomParameter(name="files", type="array", description="Where"),
        ),
    )

    tool = CustomTool(declaration, root=root, resources=lambda _: frozenset())

    assert JsonSchema().tool_to_schema(tool.definition) == {
        "name": "find_todo",
        "description": "Finds it",
        "input_schema": {
            "type": "object",
            "properties": {
                "word": {"type": "string", "description": "What"},
                "files": {"type": "array", "description": "Where", "items": {"type": "string"}},
            },
            "required": ["word"],
        },
    }
    assert tool.definition.risk is RiskLevel.HIGH
    assert isinstance(tool, SealingTool)


async def test_the_result_is_exactly_the_standard_output(root: Path):
    script = a_script(root, r"import sys; print('\x1b[1ma\tb  \r\n\n'); print('no', file=sys.stderr)")

    assert await run(a_tool(root, sys.executable, script)) == "\x1b[1ma\tb  \r\n\n\n"


async def test_no_shell_comes_between(root: Path):
    tool = a_tool(root, "printf", "%s|", "{x}", "*", types={"x": "string"})

    assert await run(tool, x="$(touch made); a  b") == "$(touch made); a  b|*|"
    assert not (root / "made").exists()


async def test_standard_input_is_empty_and_the_folder_is_the_root(root: Path):
    assert await run(a_tool(root, "cat")) == ""
    assert await run(a_tool(root, "pwd")) == f"{root}\n"


async def test_the_environment_has_no_keys(root: Path):
    inherited = {"PATH": os.environ["PATH"], "MY_API_KEY": "a", "NAMED": "b", "PLAIN": "c"}
    tool = a_tool(root, "env", inherited=inherited, secret_names={"NAMED"})

    result = await run(tool)

    assert "PLAIN=c\n" in result
    assert "MY_API_KEY" not in result
    assert "NAMED" not in result


async def test_a_failure_is_an_error_with_the_code_and_the_end_of_standard_error(root: Path):
    script = a_script(
        root, "import sys; print('out'); print('x' * 9000, 'the reason', file=sys.stderr); exit(3)"
    )

    with pytest.raises(ToolError) as caught:
        await run(a_tool(root, sys.executable, script))

    message = str(caught.value)
    assert message.startswith("the program failed with exit code 3; the end of its standard error:\nxxx")
    assert message.endswith("the reason")
    assert "out" not in message
    assert len(message) < 4100


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("print('all I have'); exit(1)", "exit code 1; the end of its standard output:\nall I have"),
        ("exit(1)", "exit code 1; it printed nothing"),
        ("import os; os.abort()", "killed by SIGABRT; it printed nothing"),
    ],
)
async def test_an_error_without_standard_error_shows_what_there_is(root: Path, code: str, expected: str):
    with pytest.raises(ToolError) as caught:
        await run(a_tool(root, sys.executable, a_script(root, code)))

    assert str(caught.value).endswith(expected)


async def test_a_program_that_is_not_there_is_reported_with_the_setting(root: Path):
    with pytest.raises(ToolError, match=r"no program nowhere-to-be-found.*tools\.custom\.mine\.command"):
        await run(a_tool(root, "nowhere-to-be-found"))


async def test_a_program_that_cannot_be_started_is_an_error(root: Path):
    (root / "text").write_text("no program")
    (root / "text").chmod(0o755)

    with pytest.raises(ToolError, match="the program could not be started: Exec format error"):
        await run(a_tool(root, "./text"))


async def test_more_output_than_is_kept_is_counted_and_not_held(root: Path):
    script = a_script(root, "print('a' * 40_000 + 'é' * 40_000, end='')")

    result = await run(a_tool(root, sys.executable, script, max_output_bytes=2000))

    head, note, tail = result.split("\n")
    assert head == "a" * 1000
    assert note == "… 118000 bytes left out …"
    assert tail == "é" * 500


async def test_bytes_that_are_no_text_are_replaced(root: Path):
    script = a_script(root, r"import sys; sys.stdout.buffer.write(b'a\xffb')")

    assert await run(a_tool(root, sys.executable, script)) == "a�b"


async def test_both_streams_are_shown_as_progress_before_the_result(root: Path):
    script = a_script(root, "import sys; print('halfway', file=sys.stderr); print('done')")
    controls = RecordingControls()

    await run(a_tool(root, sys.executable, script), controls)

    assert "halfway" in controls.reports[-1]
    assert "done" in controls.reports[-1]


async def test_progress_is_shown_while_the_program_runs(root: Path):
    script = a_script(
        root, "import os, time\nprint('up', flush=True)\nwhile not os.path.exists('go'): time.sleep(.01)"
    )
    controls = RecordingControls()

    running = asyncio.create_task(run(a_tool(root, sys.executable, script), controls))
    await eventually(lambda: controls.reports == ["up"])
    (root / "go").touch()

    assert await running == "up\n"


@pytest.mark.long
async def test_nothing_outlives_the_time_limit(root: Path):
    daemon = Daemon(root)
    tool = a_tool(root, "sh", "-c", f"{daemon.command}; echo up >&2; exec tail -f /dev/null", timeout_secs=2)

    with pytest.raises(ToolError, match="ended after 2 s, its time limit; the end of its standard error:\nup"):
        await run(tool)

    assert not daemon.is_alive()


@pytest.mark.long
async def test_nothing_outlives_a_cancellation(root: Path):
    daemon = Daemon(root)
    tool = a_tool(root, "sh", "-c", f"{daemon.command}; exec tail -f /dev/null")

    running = asyncio.create_task(run(tool))
    await eventually(lambda: daemon.ready.exists())
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert not daemon.is_alive()


@pytest.mark.long
async def test_background_processes_are_ended_and_the_result_stays_exact(root: Path):
    daemon = Daemon(root)

    assert await run(a_tool(root, "sh", "-c", f"{daemon.command}; echo done")) == "done\n"
    assert not daemon.is_alive()


async def test_a_path_outside_the_workspace_is_refused_before_anything_runs(root: Path):
    tool = a_tool(root, "cat", "{file}", types={"file": "path"})

    with pytest.raises(ToolError, match="outside"):
        await run(tool, file="../secret")
    with pytest.raises(ToolError, match="outside"):
        await tool.seal({"file": "/etc/passwd"}, {})


@pytest.mark.parametrize(
    ("risk", "path", "answer"),
    [
        (RiskLevel.LOW, "notes.txt", Answer.ALLOW),
        (RiskLevel.LOW, ".env", Answer.ASK),
        (RiskLevel.LOW, "AGENTS.md", Answer.ALLOW),
        (RiskLevel.HIGH, "AGENTS.md", Answer.ASK),
    ],
)
def test_a_path_argument_is_under_the_rules_for_paths(root: Path, risk: RiskLevel, path: str, answer: Answer):
    tool = a_tool(root, "wc", "{file}", types={"file": "path"}, risk=risk)

    access = tool.definition.determine_access({"file": path})

    assert access.exclusive
    assert (
        decide(
            Subject(tool="any", risk=risk, access=access), paths=PathPolicy(roots=(str(root),)), mode=Mode.AUTO
        ).answer
        is answer
    )


async def test_a_seal_holds_the_program_the_files_and_the_whole_line(root: Path):
    found, real = a_program("wc")
    (root / "a b.txt").write_bytes(b"one")
    (root / "c.txt").write_bytes(b"two")
    tool = a_tool(root, "wc", "-l", "{file}", "--from={other}", types={"file": "string", "other": "path"})

    seal = await tool.seal({"file": "a b.txt", "other": "c.txt"}, {})

    assert seal.cwd == str(root)
    assert seal.executables == (real,)
    assert [(file.path, file.sha256) for file in seal.files] == [
        (str(root / "a b.txt"), hashlib.sha256(b"one").hexdigest()),
        (str(root / "c.txt"), hashlib.sha256(b"two").hexdigest()),
    ]
    assert seal.environment["TERM"] == "dumb"
    assert seal.unsealed == (
        "further effects of the command are not known beforehand; "
        f"run without a shell: {found} -l 'a b.txt' --from=c.txt"
    )


async def test_a_program_of_the_workspace_is_sealed_with_its_content(root: Path):
    (root / "tool.sh").write_text("#!/bin/sh\ntrue\n")
    (root / "tool.sh").chmod(0o755)

    seal = await a_tool(root, "./tool.sh").seal({}, {})

    assert seal.executables == (str(root / "tool.sh"),)
    assert [file.path for file in seal.files] == [str(root / "tool.sh")]


async def test_a_program_is_run_by_the_name_it_was_found_under(root: Path):
    (root / "real.sh").write_text('#!/bin/sh\necho "$0"\n')
    (root / "real.sh").chmod(0o755)
    (root / "link").symlink_to("real.sh")

    assert await run(a_tool(root, "./link")) == f"{root}/link\n"


async def test_an_approved_call_runs_while_its_seal_holds(root: Path):
    (root / "a.txt").write_text("approved")
    tool = a_tool(root, "cat", "{file}", types={"file": "path"})
    seal = await tool.seal({"file": "a.txt"}, {})

    assert await run(tool, RecordingControls(seal), file="a.txt") == "approved"


async def test_a_changed_file_keeps_an_approved_call_from_running(root: Path):
    script = a_script(root, "open('ran', 'w')")
    tool = a_tool(root, sys.executable, script)
    seal = await tool.seal({}, {})
    a_script(root, "print('evil')")

    with pytest.raises(StaleSeal, match="files changed since the approval; nothing was run"):
        await run(tool, RecordingControls(seal))

    assert not (root / "ran").exists()


async def test_other_arguments_than_the_approved_ones_do_not_run(root: Path):
    tool = a_tool(root, "echo", "{x}", types={"x": "string"})
    seal = await tool.seal({"x": "approved"}, {})

    with pytest.raises(StaleSeal):
        await run(tool, RecordingControls(seal), x="other")


async def test_contents_that_earlier_calls_will_write_count(root: Path):
    tool = a_tool(root, "cat", "{file}", types={"file": "path"})

    seal = await tool.seal({"file": "new.txt"}, {str(root / "new.txt"): b"new"})

    assert [file.sha256 for file in seal.files] == [hashlib.sha256(b"new").hexdigest()]


def test_a_declaration_that_does_not_fit_is_reported_with_its_key(root: Path):
    wrong = CustomToolDeclaration(name="mine", description="d", command=("echo", "{x}"))

    with pytest.raises(ConfigError, match=r"^tools\.custom\.mine: command\[1\] names \{x\}"):
        build_custom_tools([wrong], root=root, resources=lambda _: frozenset())


@pytest.mark.requirement("D01")
async def test_what_is_declared_to_be_json_is_a_structured_output(root: Path):
    tool = a_tool(root, "printf", '{{"a": [1, 2]}}\\n', output="json")

    assert await run(tool) == Structured({"a": [1, 2]})


@pytest.mark.parametrize("printed", ["not json", "", "NaN", '{{"a": 1'])
async def test_what_is_declared_to_be_json_and_is_none_stays_text_that_says_so(root: Path, printed: str):
    output = await run(a_tool(root, "printf", printed, output="json"))

    assert isinstance(output, Printed)
    assert output.text.startswith("[declared to print JSON, but this is none: ")
    assert output.text.endswith(printed.replace("{{", "{"))
