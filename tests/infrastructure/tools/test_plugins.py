from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from quorum.domain.errors import ConfigError
from quorum.domain.events.masking import SecretMask
from quorum.domain.review.permission_rules import Answer, Rule, SavedRule
from quorum.infrastructure.config.loading import load_settings
from quorum.infrastructure.config.model_choice import AskedModels
from quorum.infrastructure.container import Container, build_container
from quorum.infrastructure.permissions.in_force import open_rule_file
from quorum.infrastructure.session_inputs import SessionInputs
from quorum.infrastructure.tools.registration import check_tools, load_plugin_tools
from quorum.infrastructure.trust_decisions import open_trust_decisions
from tests.support.builders import a_context
from tests.support.fake_ports import FakePerson, RecordingObserver
from tests.support.records import no_record

_HELLO = """
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter


class Hello:
    definition = ToolDefinition(
        name="hello",
        description="Greets",
        parameters=(ToolParameter(name="name", type="string", description="Who", required=True),),
        risk=RiskLevel.LOW,
    )

    async def execute(self, arguments, context):
        return f"hello {arguments['name']}, call {context.call_index} of {context.batch_id}"


class Rooted(Hello):
    def __init__(self, root):
        self.root = root


def several(*, greeting="hello"):
    return [Hello()]


def in_root(root):
    yield Rooted(root)


def failing():
    raise RuntimeError("no licence")


def ending():
    raise SystemExit(3)


class Old(Hello):
    async def execute(self, arguments):
        return ""


NUMBER = 5
"""

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts real distributions, each a module with its dist-info, into a folder of the import path."""
    site = tmp_path / "site-packages"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))

    def add(name: str, entry_points: str, source: str = _HELLO) -> None:
        module = name.replace("-", "_")
        (site / f"{module}.py").write_text(source)
        info = site / f"{module}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text(f"[quorum.tools]\n{entry_points}\n")
        monkeypatch.delitem(sys.modules, module, raising=False)
        importlib.invalidate_caches()

    return add


def tools_of(root: Path):
    return check_tools(load_plugin_tools(root), cwd=str(root))


def refusal(root: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        tools_of(root)
    return str(caught.value)


def a_container(root: Path, text: str = "", *, is_safe: bool = False) -> Container:
    (root / "own.toml").write_text(text)
    environ = {"HOME": str(root)}
    loaded = load_settings(cwd=root, environ=environ, config_file=root / "own.toml", is_safe=is_safe)
    return build_container(
        SessionInputs(
            record=no_record(),
            mask=SecretMask(),
            loaded=loaded,
            asked=AskedModels(models=("offline/offline",)),
            root=root,
            environ=environ,
            approver=FakePerson(),
            observer=RecordingObserver(),
            trust=open_trust_decisions({}),
        )
    )


def test_a_safe_start_has_no_plug_ins_and_no_saved_rule_that_allows(install: Install, tmp_path: Path):
    install("acme-tools", "hello = acme_tools:Hello")
    file = open_rule_file({"HOME": str(tmp_path)})
    assert file is not None
    rules = ("run_command(make *)", Answer.ALLOW), ("run_command(curl *)", Answer.DENY)
    file.save_all(
        [SavedRule(rule=Rule.parse(*rule, "saved"), project=None, saved="2026-01-01") for rule in rules]
    )

    usual, safe = a_container(tmp_path), a_container(tmp_path, is_safe=True)

    assert ("hello" in usual.tools(), "hello" in safe.tools()) == (True, False)
    answers = [[rule.answer for rule in each.saved_rules().rules] for each in (usual, safe)]
    assert answers == [[Answer.ALLOW, Answer.DENY], [Answer.DENY]]


def test_without_plug_ins_there_are_none(tmp_path: Path):
    assert load_plugin_tools(tmp_path) == ()


def test_one_that_is_installed_or_removed_while_quorum_runs_counts_for_the_next_session(
    install: Install, tmp_path: Path
):
    before = tools_of(tmp_path)
    install("acme-tools", "hello = acme_tools:Hello")
    after = tools_of(tmp_path)
    (tmp_path / "site-packages/acme_tools-1.2.dist-info").rename(tmp_path / "gone")

    assert (list(before), list(after), list(tools_of(tmp_path))) == ([], ["hello"], [])


@pytest.mark.parametrize("declared", [b"[quorum.tools]\nno entry\n", b"[console_scripts]\na = \xff\n"])
def test_a_package_whose_entry_points_nobody_can_read_is_named(
    install: Install, tmp_path: Path, declared: bytes
):
    install("acme-tools", "hello = acme_tools:Hello")
    install("broken", "")
    (tmp_path / "site-packages/broken-1.2.dist-info/entry_points.txt").write_bytes(declared)

    assert refusal(tmp_path).startswith("the entry points of the installed package broken cannot be read: ")


@pytest.mark.parametrize("entry", ["acme_tools:Hello", "acme_tools:several"])
async def test_a_class_or_a_function_of_a_distribution_gives_tools(
    install: Install, tmp_path: Path, entry: str
):
    install("acme-tools", f"greet = {entry}")

    tool = tools_of(tmp_path)["hello"]

    assert await tool.execute({"name": "you"}, a_context(2)) == "hello you, call 2 of batch-1"


@pytest.mark.parametrize("entry", ["acme_tools:Rooted", "acme_tools:in_root"])
def test_one_that_needs_an_argument_is_given_the_root(install: Install, tmp_path: Path, entry: str):
    install("acme-tools", f"greet = {entry}")

    assert tools_of(tmp_path)["hello"].root == tmp_path  # type: ignore[attr-defined]


def test_a_session_has_the_tools_of_plug_ins_and_of_the_settings_beside_its_own(
    install: Install, tmp_path: Path
):
    install("acme-tools", "greet = acme_tools:Hello")
    text = '[tools.custom.shout]\ndescription = "Shouts"\ncommand = ["echo", "HELLO"]\n'

    container = a_container(tmp_path, text)

    assert list(container.tools())[-2:] == ["shout", "hello"]
    assert [schema["name"] for schema in container.parts().calls.tool_set.list_schemas()][-2:] == [
        "shout",
        "hello",
    ]


def test_the_settings_can_take_a_tool_of_a_plug_in_away(install: Install, tmp_path: Path):
    install("acme-tools", "greet = acme_tools:Hello")

    assert "hello" not in a_container(tmp_path, 'tools.disabled = ["hello"]').tools()


def test_a_custom_tool_cannot_take_the_place_of_a_built_in_one(tmp_path: Path):
    text = '[tools.custom.read_file]\ndescription = "Reads"\ncommand = ["cat"]\n'

    with pytest.raises(ConfigError, match=r"named read_file, from quorum itself and \[tools\.custom\]"):
        a_container(tmp_path, text).tools()


def test_plug_ins_come_in_the_order_of_their_names_and_cannot_take_the_place_of_each_other(
    install: Install, tmp_path: Path
):
    install("zeta", "greet = zeta:Hello")
    install("acme-tools", "greet = acme_tools:Hello")

    assert refusal(tmp_path) == (
        "two tools are named hello, from the plug-in acme-tools 1.2 (greet = acme_tools:Hello) and the plug-in "
        "zeta 1.2 (greet = zeta:Hello); rename one of them"
    )


@pytest.mark.parametrize(
    ("entry", "source", "complaint"),
    [
        ("acme_tools:Hello", "import nowhere_to_be_found", "cannot be loaded: ModuleNotFoundError: No module"),
        ("acme_tools:Hello", "def broken(:", "cannot be loaded: SyntaxError"),
        ("acme_tools:Hello", "raise SystemExit", "cannot be loaded: SystemExit"),
        ("acme_tools:Missing", _HELLO, "cannot be loaded: AttributeError"),
        ("acme_tools:NUMBER", _HELLO, "names an object of type int, which cannot be called"),
        ("acme_tools:failing", _HELLO, "gives no tools: RuntimeError: no licence"),
        ("acme_tools:ending", _HELLO, "gives no tools: SystemExit: 3"),
    ],
)
def test_a_broken_plug_in_is_an_error_that_names_its_distribution(
    install: Install, tmp_path: Path, entry: str, source: str, complaint: str
):
    install("acme-tools", f"greet = {entry}", source)

    reported = refusal(tmp_path)

    assert reported.startswith(f"the plug-in acme-tools 1.2 (greet = {entry}) {complaint}")
    assert reported.endswith("; repair or uninstall acme-tools 1.2")


@pytest.mark.parametrize(
    ("entry", "source"),
    [
        ("acme_tools:Hello", "import quorum.orders"),
        ("acme_tools:Hello", "from quorum.version import NoStock"),
        ("quorum:Hello", ""),
        ("quorum.orders:Hello", ""),
    ],
)
def test_a_plug_in_with_a_package_of_our_name_is_an_error_that_names_the_conflict(
    install: Install, tmp_path: Path, entry: str, source: str
):
    install("acme-tools", f"greet = {entry}", source)

    reported = refusal(tmp_path)

    assert reported.startswith(f"the plug-in acme-tools 1.2 (greet = {entry}) cannot be loaded: ")
    assert "quorum itself has this name, and Python finds that one" in reported


@pytest.mark.requirement("A01")
def test_a_tool_of_a_plug_in_without_the_context_parameter_is_refused_by_name(install: Install, tmp_path: Path):
    install("acme-tools", "greet = acme_tools:Old")

    assert refusal(tmp_path).startswith(
        "the plug-in acme-tools 1.2 (greet = acme_tools:Old): the tool hello is refused because its execute "
        "does not take context as its second parameter; write it as"
    )


def test_what_is_no_tool_is_refused(install: Install, tmp_path: Path):
    install("acme-tools", "greet = acme_tools:nothing", "def nothing(): return None")

    assert "the tool builtins.NoneType has no definition" in refusal(tmp_path)
