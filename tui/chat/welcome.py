"""What an empty session says: where it works, what can be asked, and without a model the ways to one."""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import VerticalGroup
from textual.content import Content
from textual.widgets import Static

from quorum.domain.text.pattern import compile_once
from quorum.domain.text.printable import make_printable
from quorum.tui.chat.header import find_branch, format_folder
from quorum.tui.keys.choices import describe_reviews
from quorum.tui.keys.keyed_app import READER, fill_in_keys
from quorum.tui.transcript.cells.lines import fit_text, fit_text_end
from quorum.tui.widgets.colours import QUIET

if TYPE_CHECKING:
    from quorum.domain.sessions.session_summary import SessionSummary
    from quorum.tui.session.session import Session


_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_PYTEST_FILES = frozenset({"pytest.ini", "conftest.py", "tox.ini"})
_PYTHON_FILES = frozenset({"pyproject.toml", "setup.py", "setup.cfg"})
_FOLDERS = frozenset({"test", "tests"})
_MOST_BYTES = 256 * 1024
_TARGET = re.compile(r"^test[ \t]*:(?!=)", re.MULTILINE)
_PYTHON_TEST = re.compile(r"(?:test_.*|.*_test)\.py")
_NO_SCRIPT = "no test specified"
"""What npm writes for a project without tests."""


def find_test_command(workspace: Path, names: AbstractSet[str], source: str) -> str:
    """The command, empty where none is known. `names` are in the folder, `source` is a source file of it."""
    makefile = next((name for name in _MAKEFILES if name in names), "")
    if makefile and _TARGET.search(_read(workspace / makefile)):
        return "make test"
    if _is_tested_by_pytest(names, source):
        return "pytest"
    if "package.json" in names and _has_test_script(_read(workspace / "package.json")):
        return "npm test"
    if "Cargo.toml" in names:
        return "cargo test"
    return "go test ./..." if "go.mod" in names else ""


def _is_tested_by_pytest(names: AbstractSet[str], source: str) -> bool:
    is_python = bool(names & _PYTHON_FILES) or source.endswith(".py")
    has_tests = bool(names & _FOLDERS) or any(map(_PYTHON_TEST.fullmatch, names))
    return bool(names & _PYTEST_FILES) or (is_python and has_tests)


def _has_test_script(text: str) -> bool:
    import json

    try:
        package = json.loads(text)
    except (ValueError, RecursionError):
        return False
    scripts = package.get("scripts") if isinstance(package, dict) else None
    script = scripts.get("test") if isinstance(scripts, dict) else None
    return isinstance(script, str) and bool(script.strip()) and _NO_SCRIPT not in script


def _read(path: Path) -> str:
    """The beginning of a regular file; empty where it cannot be read."""
    try:
        if path.is_symlink() or not path.is_file():
            return ""
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode(errors="replace")
    except OSError:
        return ""


_HINTS = "@ names a file · / lists commands · ? shows all keys"
_TAKES = "{prompt_complete=tab} takes one · "
_NO_MODEL = "No model yet: three ways to go on"
_LONGEST_TITLE = 60
LOCAL_SERVERS = {11434: "Ollama", 1234: "LM Studio", 8080: "llama.cpp", 8000: "vLLM"}
"""The ports on which local servers of models are usually found."""

_LOOPBACK = "127.0.0.1"
_PATIENCE_SECS = 0.3
_SERVERS_SECS = 0.5
_MOST_DOWN = 3
_MOST_NAMES = 2_000
_LOW, _SHORT = 20, 30
_LEAST_PLACE_CELLS = 40
_PADDING = 4
_SOURCES = frozenset(
    {".py", ".ts", ".tsx", ".js", ".go", ".rs", ".java", ".kt", ".rb", ".c", ".cc", ".cpp", ".cs"}
)
_TESTS = ("test", "tests", "spec", "__tests__")
_NOT_THE_PROJECT = frozenset(
    {*_TESTS, "doc", "docs", "example", "examples", "samples", "demo", "demos", "benchmark", "benchmarks"}
    | {"script", "scripts", "ci", "tools", "node_modules", "vendor", "third_party", "venv", "env"}
    | {"build", "dist", "out", "target", "fixtures", "migrations", "site"}
)
_AROUND_IT = (
    r"^(?:setup|conf|conftest|noxfile|test_.*|.*_test)\.py$|^(?:gulp|grunt)file\.js$|_test\.go$"
    r"|\.(?:min|config|test|spec|d)\.[jt]sx?$"
)
"""Source files that build, set up or test a project, or that something wrote: taken where no other is."""

_MOST_DEPTH = 3
_PROJECT_FILES = ("README.md", "README.rst", "README", "pyproject.toml", "package.json", "Cargo.toml", "go.mod")


class Welcome(VerticalGroup):
    """A block that stands where the transcript will be."""

    def __init__(self, workspace: Path, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._workspace = workspace
        self._head = Static(id="welcome-head", markup=False)
        self._box = Static(id="welcome-box", markup=False)
        self._rest = Static(id="welcome-rest", markup=False)
        self._box.border_title = _NO_MODEL
        self._box.display = False
        self._shown: tuple[str, ...] = ()
        self._has_model = False
        self._looked_for: str | None = None
        self._examples: tuple[str, ...] = ()
        self._servers: tuple[int, ...] = ()
        self._last: SessionSummary | None = None
        self._down: tuple[str, ...] = ()
        self._is_in_tour = False

    def compose(self) -> ComposeResult:
        """Where it works, the ways to a model, and what can be done."""
        yield self._head
        yield self._box
        yield self._rest

    @property
    def resumable(self) -> str:
        """The id of the session that Enter continues with; empty where there is none, or none is offered."""
        is_seen = self._last is not None and self.display and not self.has_class("-over")
        return self._last.id if self._last is not None and is_seen else ""

    @property
    def servers(self) -> tuple[int, ...]:
        """The ports of the local servers that can be chosen by their numbers, from 1."""
        return self._servers if self.display and self._box.display and not self._is_in_tour else ()

    def suggest(self, text: str) -> str:
        """The example that Tab puts in the place of this text: the first for none, and from one to the next;
        empty where that is something else, or none can be seen."""
        examples = self._seen_examples
        if not examples or (text and text not in examples):
            return ""
        return examples[(examples.index(text) + 1) % len(examples) if text else 0]

    @property
    def _seen_examples(self) -> tuple[str, ...]:
        is_hidden = (
            not self.display or self.has_class("-over") or (self._box.display and self.has_class("-low"))
        )
        return () if is_hidden else self._examples

    def on_resize(self) -> None:
        """On a low screen it stands at the bottom, without what can be done without."""
        self.set_class(self.app.size.height < _LOW, "-low")
        self.set_class(self.app.size.height < _SHORT, "-short")
        if self._shown:
            self._draw()

    def tell_of_tour(self) -> None:
        """Say what to do after the tour, instead of how to start it."""
        self._is_in_tour = True
        if self._shown:
            self._draw()

    def show(self, session: Session, version: str) -> None:
        """Show what is known of this session, and look for the rest once, beside everything else."""
        facts = session.facts
        known = (version, facts.model_with_effort, facts.sandbox, session.mode_label)
        if known != self._shown:
            self._shown, self._has_model = known, facts.has_model
            self._draw()
        if self.display and self._looked_for != session.agent.session_id:
            self._looked_for, self._last = session.agent.session_id, None
            self.run_worker(self._look_around(session), group="welcome", exclusive=True)

    async def _look_around(self, session: Session) -> None:
        from quorum.domain.errors import QuorumError

        has_model = session.facts.has_model
        if not has_model:
            self._servers = await find_local_servers()
        suggest = suggest_prompts if has_model else suggest_requests
        self._examples = await asyncio.to_thread(suggest, self._workspace)
        try:
            sessions = await session.agent.record.archive.list_sessions()
        except QuorumError:
            sessions = ()  # the list says why, once it is asked for
        here = (
            one
            for one in sessions
            if one.cwd == str(self._workspace) and one.id != session.agent.session_id and one.owner is None
        )
        self._last = next((one for one in here if one.is_begun and one.open_in is None), None)
        self._draw()
        await self._watch_servers(session)

    async def _watch_servers(self, session: Session) -> None:
        """Name the servers of tools that do not start, while there is no turn yet that would."""
        while self.display and (servers := session.agent.tool_servers.list_statuses()):
            down = tuple(
                f"MCP server {one.name} is not running: {one.problem}" for one in servers if one.is_down
            )
            if down != self._down:
                self._down = down
                self._draw()
            await asyncio.sleep(_SERVERS_SECS)

    def _draw(self) -> None:
        version, model, sandbox, mode = self._shown
        model = make_printable(model, newlines=False)
        name = f"quorum {version}".strip()
        facts = [part for part in (find_branch(self._workspace), sandbox) if part]
        room = self.app.size.width - _PADDING - cell_len(" · ".join([name, "", *facts]))
        facts.insert(0, fit_text_end(format_folder(self._workspace), max(room, _LEAST_PLACE_CELLS)))
        head = Content.assemble((name, "bold $text-primary"), *(f" · {fact}" for fact in facts))
        has_model = self._has_model
        warning = [Content(text).stylize("$text-warning") for text in _list_warnings(self._workspace)]
        says = Content(
            f"{model} · {describe_reviews(mode, sandbox)}"
            if has_model
            else f"{model} · works without a model, in plain requests"
        )
        self._head.update(Content("\n").join([head, *warning, says.stylize(QUIET)]))
        self._box.display = not has_model
        if not has_model:
            self._box.update(Content("\n").join(self._render_ways()))
        self._rest.update(Content("\n").join(self._render_offers()))

    def _render_ways(self) -> Iterator[Content]:
        from quorum.application.program_lookup import find_own_command

        command = make_printable(find_own_command(), newlines=False)
        if self.app.has_class(READER):  # there is no border that could have a title
            yield Content(_NO_MODEL)
        yield Content.assemble(
            ("export ANTHROPIC_API_KEY=…", "bold"), " or ", ("OPENAI_API_KEY=…", "bold"), "  then start again"
        )
        servers = () if self._is_in_tour else self._servers
        for number, port in enumerate(servers, 1):
            keys = "Enter" if number == 1 and not self.resumable else f"{number} and Enter"
            yield Content.assemble(f"{LOCAL_SERVERS[port]} on {_LOOPBACK}:{port}: ", (keys, "bold"), " uses it")
        if not servers:
            again = (command, " again") if self._is_in_tour else ("/new", " finds it")
            yield Content.assemble("a local server: start it, then ", (again[0], "bold"), again[1])
        if self._is_in_tour:
            yield Content.assemble("after the tour: ", ("quorum", "bold"), " in your project's folder")
        else:
            yield Content.assemble((f"{command} --demo", "bold"), "  a tour in a folder of its own")

    def _render_offers(self) -> Iterator[Content]:
        if self._last is not None:
            from quorum.domain.text.amounts import format_age

            title = make_printable(self._last.title, newlines=False)[:_LONGEST_TITLE]
            when = format_age(self._last.updated_ms, int(time.time() * 1000))
            yield Content.assemble(("Enter resumes: ", "bold $text-accent"), f"{title} · {when}")
        examples = self._seen_examples
        sign = "for example: " if self.app.has_class(READER) else "› "
        yield from (Content.assemble((sign, "$text-primary"), each) for each in examples)
        hints = f"{_TAKES}{_HINTS}" if examples else _HINTS
        yield Content(fill_in_keys(hints, self.app)).stylize(QUIET)
        if self._down:
            width = max(_LEAST_PLACE_CELLS, self.app.size.width - _PADDING)
            lines = (make_printable(each, newlines=False) for each in self._down[:_MOST_DOWN])
            yield from (Content(fit_text(line, width)).stylize("$text-warning") for line in lines)
            yield Content("/mcp shows why and starts them again").stylize(QUIET)


def _list_warnings(workspace: Path) -> list[str]:
    """Where the workspace is more than a project, a sentence about it."""
    if workspace == Path(workspace.anchor):
        return ["This is the root of the file system: start quorum in the folder of a project."]
    if workspace == Path.home():
        return ["This is your home directory: start quorum in the folder of a project."]
    return []


async def find_local_servers() -> tuple[int, ...]:
    """The usual ports on which something listens on this machine. Nothing is sent."""
    found = await asyncio.gather(*(_listens(port) for port in LOCAL_SERVERS))
    return tuple(port for port, listens in zip(LOCAL_SERVERS, found, strict=True) if listens)


async def _listens(port: int) -> bool:
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(_LOOPBACK, port), _PATIENCE_SECS)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


def suggest_prompts(workspace: Path) -> tuple[str, ...]:
    """Up to three prompts that fit what is in a folder."""
    names, source = _survey_folder(workspace)
    prompts = ["what does this project do, and where does it start?"] if names & set(_PROJECT_FILES) else []
    if source:
        prompts.append(f"explain {source}")
    if command := find_test_command(workspace, names, source):
        prompts.append(f"run the tests with {command} and explain what fails")
    elif names & set(_TESTS):
        prompts.append("run the tests and explain what fails")
    elif ".git" in names:
        prompts.append("review the changes since the last commit")
    return tuple(prompts)


def suggest_requests(workspace: Path) -> tuple[str, ...]:
    """Up to three requests that work without a model and fit what is in a folder."""
    names, source = _survey_folder(workspace)
    texts = [source, *(name for name in _PROJECT_FILES if name in names)]
    requests = [f"read {next(filter(None, texts))}" if any(texts) else "list the files here"]
    if source:
        requests.append("find TODO")
    if not names - {".git"}:
        requests.append("write notes.txt: my first note")
    if command := find_test_command(workspace, names, source):
        requests.append(f"run {command}")
    elif ".git" in names:
        requests.append("run git status")
    elif not names:
        requests.append("run git init")
    return tuple(requests)


def _survey_folder(workspace: Path) -> tuple[set[str], str]:
    """The names in a folder, and the largest source file of the project itself; empty where none is."""
    names: set[str] = set()
    best, most, left = "", (False, 0), _MOST_NAMES
    around = compile_once(_AROUND_IT)
    folders = deque([(workspace, 0)])
    try:
        while folders:
            folder, depth = folders.popleft()
            for path in sorted(folder.iterdir()):
                left -= 1
                if left < 0:
                    return names, best
                if not depth:
                    names.add(path.name)
                if path.suffix in _SOURCES and path.is_file():
                    worth = (not around.search(path.name), path.stat().st_size)
                    if worth > most:
                        best, most = make_printable(str(path.relative_to(workspace)), newlines=False), worth
                elif depth < _MOST_DEPTH and _is_looked_into(path):
                    folders.append((path, depth + 1))
    except OSError:
        return names, best
    return names, best


def _is_looked_into(path: Path) -> bool:
    is_own = not path.name.startswith((".", "_")) and path.name.lower() not in _NOT_THE_PROJECT
    return is_own and path.is_dir() and not path.is_symlink()
