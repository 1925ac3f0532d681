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
        "A02": "a context holds call_id, batch_id and call_index: which call, which batch, which place in it",
        "A03": "the calls of one answer share one batch id",
        "A04": "two batches never share one",
        "A05": "indices follow the model's order, not the order of finishing",
        "A06": "approved calls of a batch run in parallel",
        "A07": "there is no policy of which tools run in parallel, in series or exclusively, and no "
        "use of contexts for one",
        "A08": "a tool that needs an order can keep it by itself, through its context",
        "A09": "hooks see the context and hold no lock or permit",
        "A10": "every built-in tool takes the context",
        "A11": "skipped, aborted and synthetic calls keep consistent contexts",
        "A12": "a queue for changes of one file is left to later work",
        "A13": "identity, distinct batches, withheld calls and parallelism hold together",
    },
    "Lanes, records and shared state": {
        "B01": "a batch is divided by concurrency safety before it runs",
        "B02": "safety is judged by the tool's name and its input",
        "B03": "reading is safe, changing is not, and what is unknown is not",
        "B04": "a lane is a flag and its calls; all lanes together are the calls in their order",
        "B05": "a safe lane runs at once, an unsafe one call by call",
        "B06": "a call has a record: id, name, status, is_concurrency_safe, pending_progress, "
        "results, context_modifiers",
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
        "C05": "skip leaves the operation out and stops later hooks, abort ends the run as an error",
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
        "D13": "a tool returns text as before; one that wants an explicit output uses another method",
        "D14": "bounds, printed JSON, errors and inspect's own output follow stated rules",
    },
    "Tool use": {
        "E01": "a call is structured; text that looks like one runs nothing",
        "E02": "one session interface covers Anthropic's tool use and OpenAI's function calling",
        "E03": "a port gives the schemas of one tool, all tools, low-risk tools; the domain has no schema code",
        "E04": "string and path become string, number number, integer integer, boolean boolean",
        "E05": "the neutral schema says input_schema, a request to Copilot parameters and never inputSchema",
        "E06": "end_turn returns the text, tool_use runs the calls and sends their results, "
        "max_tokens returns the text",
        "E07": "max_tool_turns bounds a task, is 10 by default, and counts a response with its results once",
        "E08": "low risk runs at once, high risk one by one after review, all results go back in one request",
        "E09": "a response is content, stop reason and model; it gives its text and its calls",
        "E10": "content is text or a tool use; a reason to stop that is not known is kept and ends the turn",
        "E11": "a call has name, arguments, reasoning and the provider's own id, which its result carries",
        "E12": "a result tells a rejection from an error",
        "E13": "a session has a model and sends text, streamed or not, prompts with tools, and results",
        "E14": "a stream tells Delta, ToolCallDelta, Completed, CompletedResponse and Error",
        "E15": "Copilot has a session for text and one for tools; a result answers the request of its call",
        "E16": "max_tool_turns can be set by the program as well as in the file",
        "E17": "guides name the files they are about and lead to each other",
    },
}

# Where quorum does something else than a line says, and why.
DEVIATIONS: Mapping[str, str] = {
    "A06": "calls that conflict wait for each other with the default planner `serializable`, as their "
    "outcome is to be "
    'that of running them one by one. `[tools] planner = "all_parallel"` starts all approved calls at once',
    "A07": "what runs when is a plan that a pure function makes before the engine runs it. With "
    "`all_parallel` there "
    "is none, but calls that declare the same path still keep their order, and reviews are asked one at a time",
    "A12": "it is there: changes of one file happen in call order under every planner, as a lost edit would be "
    "nobody's intention; changes of two files overlap",
    "B06": "the record has more: why a call waits, what it has shown, its outcome. `pending_progress` "
    "is `progress` "
    "and keeps the latest, as they are shown at once; `context_modifiers` is `modifiers`",
    "C02": "at the end of a turn a hook may abort, too, as at the other points",
    "C04": "a hook of a lower `priority` runs first; without one the order is that of registration",
    "C05": "a skipped call still has a result, which says so: a call without one is no legal conversation",
    "C08": "edited messages shape that one request and are not kept, so that the record stays what was said",
    "D01": "an output may also be `Printed` with its styles, JSON that is stored only where it is "
    "long, and what was "
    "stored while it grew",
    "D02": "a tool may declare its own limit: commands do, and what pages itself is not stored",
    "D03": "a tool may declare its own size of a summary: commands do, as errors stand anywhere in "
    "what they print",
    "D13": "the one method returns text or an output: a second way to run a tool could be one around "
    "the review",
    "E06": "text that max_tokens cut off is continued, at most three times, and ends as `limit`; a "
    "call that it cut "
    "off is asked for once more; an answer without words and calls is asked for once more, and then `failed`",
    "E07": "the default is 100, as 10 stop ordinary tasks in the middle; spend caps and the end at "
    "three identical "
    "rejections bound a turn that runs away. At the limit the model is asked once to say where things stand",
    "E08": "high-risk calls wait for each other, and for the low-risk calls that they conflict with only; "
    '`[tools] planner = "risk_split"` runs all low-risk calls first',
    "E15": "sessions and requests are those of the official SDK for the Copilot CLI, which speaks its protocol",
}

_MARK = re.compile(r"pytest\.mark\.requirement\(['\"]([A-E]\d\d)['\"]\)")
_HEAD = """\
# What the tool runtime owes, and the tests that show it

Made by `docs/checklist.py` from the markers of the tests. `tests/architecture/test_checklist.py` checks that
no line is without one and that the page is up to date. A line says what was asked for; where quorum does
something else, a deviation says what, and why.
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
            deviation = f"<br>**Deviation:** {DEVIATIONS[id_]}" if id_ in DEVIATIONS else ""
            lines.append(f"| {id_} | {requirement}{deviation} | {named} |")
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
