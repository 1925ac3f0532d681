import pytest

from quorum.domain.calls.tool import RiskLevel
from quorum.infrastructure.config.command_template import CustomParameter, CustomToolDeclaration
from quorum.infrastructure.config.report import show
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.config.tools_table import build_declaration
from tests.support.settings_machine import Machine

_TOOL = """
[tools.custom.run_tests]
description = "Run the tests"
command = ["make", "test", "ONLY={only}", "{files}"]
risk = "low"
timeout_secs = 300

[tools.custom.run_tests.parameters.only]
description = "A marker"

[tools.custom.run_tests.parameters.files]
type = "array"
description = "Test files"
required = true
"""


def test_a_table_declares_a_tool_with_its_parameters(machine: Machine):
    machine.user(_TOOL)

    table = machine.load().settings.tools.custom["run_tests"]

    assert build_declaration("run_tests", table) == CustomToolDeclaration(
        name="run_tests",
        description="Run the tests",
        command=("make", "test", "ONLY={only}", "{files}"),
        parameters=(
            CustomParameter(name="only", type="string", description="A marker"),
            CustomParameter(name="files", type="array", description="Test files", required=True),
        ),
        risk=RiskLevel.LOW,
        timeout_secs=300,
    )


def test_a_tool_is_of_high_risk_and_bounded_unless_it_says_otherwise(machine: Machine):
    machine.user("[tools.custom.x]\ndescription = 'd'\ncommand = ['true']")

    table = machine.load().settings.tools.custom["x"]

    assert (table.risk, table.timeout_secs, table.parameters) == (RiskLevel.HIGH, 60, {})


def test_what_is_shown_of_a_tool_loads_as_the_same_settings(machine: Machine):
    machine.user(_TOOL)
    before = machine.load().settings

    machine.user(show(machine.load()))

    assert machine.load().settings == before
    assert before != Settings()


def test_a_variable_reaches_into_a_declared_tool(machine: Machine):
    machine.user(_TOOL)
    machine.environ["QUORUM_TOOLS__CUSTOM__RUN_TESTS__TIMEOUT_SECS"] = "5"
    machine.environ["QUORUM_TOOLS__CUSTOM__RUN_TESTS__PARAMETERS__ONLY__REQUIRED"] = "true"

    table = machine.load().settings.tools.custom["run_tests"]

    assert table.timeout_secs == 5
    assert table.parameters["only"].required


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ("[tools.custom.x]\ncommand = ['a']", 1, "tools.custom.x.description is missing; it must be a text"),
        ("[tools.custom.x]\ndescription = 'd'", 1, "tools.custom.x.command is missing; it must be a list of"),
        ("[tools.custom.x]\ncommand = []", 2, "tools.custom.x.command must be a list of strings that begins"),
        ("[tools.custom.x]\ncommand = 'make {x}'", 2, "tools.custom.x.command must be a list of strings"),
        (
            "[tools.custom.x]\ndescription = ' '",
            2,
            "tools.custom.x.description must be a text that is not empty",
        ),
        ("[tools.custom.x]\nrisk = 'hihg'", 2, 'must be one of low, high, not "hihg"; did you mean "high"?'),
        (
            "[tools.custom.x]\nparams = 1",
            2,
            "no setting tools.custom.x.params; did you mean tools.custom.x.par",
        ),
        ("[tools.custom.x.parameters]\np = 'string'", 2, "tools.custom.x.parameters.p must be a table"),
        ("[tools.custom.x.parameters.p]\ntype = 'text'", 2, "must be one of string, path, number, integer"),
        ("[tools.custom.x.parameters.'a b']", 1, '"a b" cannot be a name in [tools.custom.x.parameters]'),
        ("[tools.custom.'a.b']", 1, '"a.b" cannot be a name in [tools.custom], which takes 1 to 64 letters'),
        (_TOOL + "[tools.custom.run_tests.parameters.p]\nreqired = true", 16, "did you mean tools.custom.run_"),
        (_TOOL + "[tools.custom.run_tests.parameters.p]", 15, "parameters.p.description is missing"),
        (
            _TOOL + "[tools.custom.run_tests.parameters.p]\ndescription = 'd'",
            2,
            "tools.custom.run_tests: parameters.p is not used: put {p} into command or remove the parameter",
        ),
        (
            "\n[tools.custom.x]\ndescription = 'd'\ncommand = ['a', '{b}']",
            2,
            "tools.custom.x: command[1] names {b}, which is none of its parameters",
        ),
    ],
)
def test_a_wrong_table_is_reported_with_its_key_and_line(machine: Machine, text: str, line: int, sentence: str):
    machine.user(text)

    refusal = machine.refusal()

    assert any(
        problem.startswith(f"{machine.user_file}:{line}: ") and sentence in problem
        for problem in refusal.splitlines()
    ), refusal


def test_a_tool_that_only_a_project_declares_does_not_exist(machine: Machine):
    machine.project("[tools.custom.evil]\ndescription = 'd'\ncommand = ['evil']\n")

    loaded = machine.load()

    assert loaded.settings.tools.custom == {}
    assert "sets of tools.custom.evil.description, tools.custom.evil.command" in loaded.warnings[0]
