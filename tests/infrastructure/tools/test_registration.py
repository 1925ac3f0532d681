from __future__ import annotations

import functools

import pytest

from quorum.application.ports.tools import SealingTool
from quorum.domain.calls.execution import Seal, ToolExecutionContext
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from quorum.domain.errors import ConfigError
from quorum.domain.replacing import replace
from quorum.infrastructure.tools.registration import ToolSource, check_tools
from tests.support.builders import a_context


def a_definition(name: str = "probe", risk: RiskLevel = RiskLevel.LOW, *parameters: str) -> ToolDefinition:
    return ToolDefinition(
        name=name,
        description="Looks",
        risk=risk,
        parameters=tuple(ToolParameter(name=each, type="string", description="") for each in parameters),
    )


class Probe:
    """A tool as small as one can be; `execute` is replaced where a test wants another."""

    def __init__(self, definition: object = None) -> None:
        self.definition = definition or a_definition()
        self.seen: list[ToolExecutionContext] = []

    async def execute(self, arguments, context):
        self.seen.append(context)
        return "done"


class SealingProbe(Probe):
    async def seal(self, arguments, projected):
        return Seal(cwd="/its own")


def register(*tools: object):
    return check_tools([ToolSource("the test", tools)], cwd="/work")


def refusal(*tools: object) -> str:
    with pytest.raises(ConfigError) as caught:
        register(*tools)
    return str(caught.value)


def with_execute(function: object) -> Probe:
    probe = Probe()
    probe.execute = function  # type: ignore[method-assign, assignment]
    return probe


async def without_context(arguments):
    return ""


async def with_another_second(arguments, verbose=False):
    return ""


async def with_keyword_context(arguments, *, context):
    return ""


async def with_the_old_form(input_json, context):
    return ""


async def with_a_third(arguments, context, third):
    return ""


def blocking(arguments, context):
    return ""


def test_tools_are_registered_by_name_in_their_order():
    first, second = Probe(a_definition("b")), Probe(a_definition("a"))

    assert list(register(first, second).items()) == [("b", first), ("a", second)]


@pytest.mark.parametrize("execute", [without_context, with_another_second, with_keyword_context])
@pytest.mark.requirement("A01")
def test_a_tool_without_the_context_parameter_is_refused_at_registration(execute):
    assert refusal(with_execute(execute)) == (
        "the test: the tool probe is refused because its execute does not take context as its second "
        "parameter; write it as `async def execute(self, arguments, context)`"
    )


@pytest.mark.requirement("A01")
def test_a_method_of_one_argument_is_refused_as_well():
    class OneArgument(Probe):
        async def execute(self, arguments):
            return ""

    assert "does not take context as its second parameter" in refusal(OneArgument())


@pytest.mark.requirement("A01")
def test_the_form_with_arguments_and_context_is_the_only_one():
    assert "does not take arguments as its first parameter" in refusal(with_execute(with_the_old_form))
    assert "cannot be called with arguments and context alone" in refusal(with_execute(with_a_third))


@pytest.mark.parametrize("execute", [None, "text"])
def test_a_tool_that_cannot_be_executed_is_refused(execute):
    assert "the tool probe has no execute; write it as" in refusal(with_execute(execute))


def test_a_tool_that_would_block_the_loop_is_refused():
    assert "its execute is not a coroutine function" in refusal(with_execute(blocking))


async def test_a_context_may_be_marked_as_unused_and_a_function_may_be_wrapped():
    async def ignoring(settings, arguments, _context):
        return settings

    tool = register(with_execute(functools.partial(ignoring, "kept")))["probe"]

    assert await tool.execute({}, a_context()) == "kept"


@pytest.mark.parametrize("definition", ["text", {"name": "probe"}])
def test_a_tool_without_a_definition_is_refused_by_the_name_of_its_class(definition):
    assert f"the tool {__name__}.Probe has no definition" in refusal(Probe(definition))
    assert "the tool builtins.object has no definition" in refusal(object())


def test_a_definition_that_fails_is_reported_with_its_error():
    class Broken(Probe):
        definition = property(lambda self: 1 / 0, lambda self, value: None)  # type: ignore[assignment]

    assert "has a definition that fails: ZeroDivisionError: division by zero" in refusal(Broken())


def test_a_class_in_place_of_an_object_is_refused():
    assert f"the tool {__name__}.Probe is a class; give an object of it" in refusal(Probe)


@pytest.mark.parametrize("name", ["", "with space", "dots.are.out", "ümlaut", "x" * 65, "new\nline", "x\n"])
def test_a_name_that_a_provider_would_refuse_is_refused_here(name):
    assert "a name is made of 1 to 64 letters, digits, - and _" in refusal(Probe(a_definition(name)))


@pytest.mark.parametrize("name", ["a", "x" * 64, "mcp__server__tool-2"])
def test_a_name_that_providers_take_is_taken(name):
    assert set(register(Probe(a_definition(name)))) == {name}


def test_two_tools_of_one_name_are_refused_with_both_their_origins():
    sources = [ToolSource("quorum itself", [Probe()]), ToolSource("the plug-in acme 1.0", [Probe()])]

    with pytest.raises(ConfigError, match="two tools are named probe, from quorum itself and the plug-in acme"):
        check_tools(sources, cwd="/work")


def test_a_risk_and_parameters_of_the_wrong_kind_are_refused():
    definition = ToolDefinition(name="probe", description="", parameters=(), risk="low")  # type: ignore[arg-type]
    named = ToolDefinition(name="probe", description="", parameters=("path",))  # type: ignore[arg-type]

    assert "has the risk 'low'; give RiskLevel.LOW" in refusal(Probe(definition))
    assert "give each as a ToolParameter" in refusal(Probe(named))
    assert "has two parameters named 'a'" in refusal(Probe(a_definition("probe", RiskLevel.LOW, "a", "b", "a")))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"description": None}, "needs a text as description"),
        ({"access": None}, "a function as access"),
        ({"timeout_secs": "5"}, "unusable timeout_secs"),
        ({"inline_bytes": -1}, "unusable inline_bytes"),
        ({"summary_bytes": True}, "unusable summary_bytes"),
    ],
)
def test_a_definition_with_values_of_the_wrong_kind_is_refused(wrong, said):
    definition = replace(a_definition("probe", RiskLevel.LOW), **wrong)

    assert said in refusal(Probe(definition))


async def test_a_risky_tool_that_cannot_seal_is_reviewed_as_unsealed_and_runs_as_itself():
    probe = Probe(a_definition(risk=RiskLevel.HIGH))

    tool = register(probe)["probe"]

    assert isinstance(tool, SealingTool)
    assert await tool.seal({}, {}) == Seal(
        cwd="/work", unsealed="what this tool touches is not known beforehand"
    )
    assert tool.definition is probe.definition
    assert await tool.execute({}, a_context()) == "done"
    assert probe.seen == [a_context()]


def test_a_tool_that_seals_and_one_of_low_risk_stay_themselves():
    sealing, low = SealingProbe(a_definition("s", RiskLevel.HIGH)), Probe(a_definition("l"))

    assert register(sealing, low) == {"s": sealing, "l": low}


def test_a_seal_is_held_to_its_form_like_execute():
    probe = SealingProbe()
    probe.seal = blocking  # type: ignore[method-assign, assignment]
    assert "its seal is not a coroutine function; write it as `async def seal(self, " in refusal(probe)

    probe.seal = without_context  # type: ignore[method-assign, assignment]
    assert "does not take projected as its second parameter" in refusal(probe)
