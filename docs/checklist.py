"""The requirements of the tool runtime and the tests that show them: `.venv/bin/python docs/checklist.py`.

Writes `docs/checklist.md` from the markers of the tests: `@pytest.mark.requirement("A05")`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/checklist.md"

# Each requirement in a few words, under the subject it belongs to.
REQUIREMENTS: Mapping[str, Mapping[str, str]] = {
    "Execution contexts": {
        "A01": "a tool takes its arguments and its context; one without the context is refused at registration",
        "A02": "a context says which call, which batch, and which place in it",
        "A03": "the calls of one answer share one batch id",
        "A04": "two batches never share one",
        "A05": "indices follow the model's order, not the order of finishing",
        "A06": "all calls of a batch may run at once",
        "A07": "the engine has no scheduling policy of its own and reads no context to make one",
        "A08": "a tool that needs an order can keep it by itself, through its context",
        "A09": "hooks see the context and hold no lock or permit",
        "A10": "every built-in tool takes the context",
        "A11": "skipped, aborted and synthetic calls keep consistent contexts",
        "A12": "changes of one file happen in call order, changes of two files overlap",
        "A13": "identity, distinct batches, withheld calls and parallelism hold together",
    },
    "Lanes, records and shared state": {
        "B01": "a batch is divided by concurrency safety before it runs",
        "B02": "safety is judged by tool and input, not by name",
        "B03": "reading is safe, changing is not, and what is unknown is not",
        "B04": "a lane is a flag and its calls; all lanes together are the calls in their order",
        "B05": "a safe lane runs at once, an unsafe one call by call",
        "B06": "a call has a record of seven fields",
        "B07": "a record is queued, executing, completed, yielded; other moves are refused",
        "B08": "what waits, runs, is done and has reported can be asked at any moment",
        "B09": "progress shows at once, and before the result",
        "B10": "a message goes out now, a changed context when the batch has ended",
        "B11": "results stand in the model's order",
        "B12": "changes of a concurrent batch are made in call order",
        "B13": "a serial call sees what the one before it changed",
        "B14": "several changes of one call keep their order",
    },
    "Hooks": {
        "C01": "four points: before a request, before a call, after a call, at the end of a turn",
        "C02": "continue, skip or abort; at the end of a turn finish or continue; anything else is an error",
        "C03": "a hook implements only what it needs",
        "C04": "hooks run in the order of registration",
        "C05": "skip stops the operation and later hooks, abort ends the run",
        "C06": "the request hook runs before every request",
        "C07": "call hooks run one at a time, all before and all after the batch",
        "C08": "edited messages, arguments and results take effect",
        "C09": "a turn-end hook can make the model repair its answer",
        "C10": "blocking, logging, validating, injecting, masking and rate limiting are shipped as examples",
        "C11": "errors, order, time, edits, loops, conditions and testing follow stated rules",
        "C12": "skip has a stated meaning at every point",
    },
    "Large outputs": {
        "D01": "an output is inline or stored; content is text or structured",
        "D02": "more than 800 bytes are stored",
        "D03": "a summary has at most 400 bytes, 5 first and 3 last lines",
        "D04": "the summary of a text",
        "D05": "the summary of a JSON array",
        "D06": "the summary of a JSON object",
        "D07": "a store keeps, loads and knows outputs; ids sort by time",
        "D08": "one flat folder of files, independent of sessions",
        "D09": "the conversation carries only the summary",
        "D10": "without a store everything stays in the conversation",
        "D11": "inspect exists only with a store",
        "D12": "inspect opens by lines, slice and key, and says what is wrong with a selector",
        "D13": "a tool returns text or an explicit output",
        "D14": "bounds, printed JSON, errors and inspect's own output follow stated rules",
    },
    "Tool use": {
        "E01": "a call is structured; text that looks like one runs nothing",
        "E02": "one session interface covers Anthropic's tool use and OpenAI's function calling",
        "E03": "a port gives the schemas of one tool, all tools, low-risk tools; the domain has no schema code",
        "E04": "string and path become string, number number, integer integer, boolean boolean",
        "E05": "the neutral schema says input_schema, a request to Copilot parameters and never inputSchema",
        "E06": "an answer ends the loop, calls are run and their results sent, and it continues",
        "E07": "max_tool_turns bounds a prompt, is 100 by default, and counts a response with its results once",
        "E08": "low risk runs at once, high risk one by one after review, all results go back in one request",
        "E09": "a response is content, stop reason and model; it gives its text and its calls",
        "E10": "content is text or a tool use; a reason to stop that is not known is kept and ends the turn",
        "E11": "a call has name, arguments, reasoning and the provider's own id, which its result carries",
        "E12": "a result tells a rejection from an error",
        "E13": "a session has a model and sends text, streamed or not, prompts with tools, and results",
        "E14": "a stream tells text, pieces of calls, the whole, and errors",
        "E15": "Copilot has a session for text and one for tools; a result answers the request of its call",
        "E16": "max_tool_turns can be set by the program as well as in the file",
        "E17": "guides name the files they are about and lead to each other",
    },
}

_MARK = re.compile(r"pytest\.mark\.requirement\(['\"]([A-E]\d\d)['\"]\)")
_HEAD = """\
# What the tool runtime owes, and the tests that show it

Made by `docs/checklist.py` from the markers of the tests. `tests/architecture/test_checklist.py` checks that
no line is without one and that the page is up to date.
"""


def shown_by() -> dict[str, list[str]]:
    """For each requirement, the tests that carry its id, as pytest names them."""
    tests: dict[str, list[str]] = {id_: [] for part in REQUIREMENTS.values() for id_ in part}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for id_, name in _marked(path):
            tests.setdefault(id_, []).append(f"{path.relative_to(ROOT).as_posix()}::{name}")
    return tests


def render() -> str:
    """The text of the page."""
    tests = shown_by()
    lines = [_HEAD]
    for subject, requirements in REQUIREMENTS.items():
        lines += [f"## {subject}\n", "| | requirement | shown by |", "|---|---|---|"]
        for id_, requirement in requirements.items():
            named = "<br>".join(f"`{test}`" for test in tests[id_]) or "nothing yet"
            lines.append(f"| {id_} | {requirement} | {named} |")
        lines.append("")
    return "\n".join(lines)


def _marked(path: Path) -> Iterator[tuple[str, str]]:
    """The requirements that the tests of a file are marked with, and the names of these tests."""
    text = path.read_text(encoding="utf-8")
    if "requirement" not in text:
        return  # most have none, and parsing takes long
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for decorator in node.decorator_list:
                if found := _MARK.fullmatch(ast.unparse(decorator)):
                    yield found[1], node.name


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
