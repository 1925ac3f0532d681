"""What the offline provider says: its label, what it will call, what came back, and what it cannot do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from quorum.domain.calls.tool import ToolCall, ToolResultMessage
from quorum.domain.conversation.attachment import Attachment
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.offline.requests import NotUnderstood, Request

LABEL = "offline: no model is in use; this is a plain interpreter of simple requests."

EXAMPLES = """\
It understands requests like these, alone or joined by commas, "and", "then" or new lines:

- read a.py and b.py
- list src
- find TODO in src
- find files *.py in src
- replace "old text" with "new text" in a.py
- write notes.txt: the text
- run `pytest -q`
- plan: read the code; fix the test; run it

Quotes or backticks keep names and texts together. All requests of one prompt are one batch."""

WAYS = (
    "For a model, set `ANTHROPIC_API_KEY` or `OPENAI_API_KEY` and start quorum again, or start a local server: "
    "in the app, `/new` finds it."
)

_SHOWN_LINES = 20
_SHOWN_LINE = 200
_SHOWN_PART = 80
_TICKS = re.compile(r"`+")
_ENDING = re.compile(r"exit code -?\d+|killed by \S+")
_HERE = "./"
"""How "." is written."""
_PRINCIPAL = ("path", "command", "pattern")


def explain_not_understood(reading: NotUnderstood) -> str:
    """Which part was not understood, why, and what would be."""
    part = _quote_code(reading.part)
    return f"I did not understand {part}, so nothing was run. {reading.hint}\n\n{WAYS}\n\n{EXAMPLES}"


def explain_no_request() -> str:
    """The answer to a prompt without a request."""
    return f"There is no request in that.\n\n{EXAMPLES}"


def explain_cannot_see(attachments: Sequence[Attachment]) -> str:
    """What is said of images and PDFs before anything else."""
    names = ", ".join(_quote_code(each.name) for each in attachments)
    return f"I cannot see {names}: that takes a model."


def explain_nothing_open() -> str:
    """The answer where nobody said anything new."""
    return "Nothing is left to do; say what to do next."


def explain_missing_tools(missing: Iterable[str]) -> str:
    """The answer where a request needs tools that may not be called."""
    names = ", ".join(_quote_code(name) for name in dict.fromkeys(missing))
    return f"Nothing was run: this takes {names}, which may not be called here."


def explain_no_tools(requests: Sequence[Request]) -> str:
    """The answer where no tool may be called: what would be done next."""
    return f"No tool may be called now, so nothing was run. Still to do: {_list_requests(requests)}"


def announce_calls(requests: Sequence[Request]) -> str:
    """One line that says what is called next, without a full stop, which would read as part of a path."""
    count = "1 call" if len(requests) == 1 else f"{len(requests)} calls"
    return f"{count}: {_list_requests(requests)}"


def summarise_results(calls: Sequence[ToolCall], results: Sequence[ToolResultMessage]) -> str:
    """What came back, call by call: how it ended, and the beginning of what it said."""
    asked = {call.native_id: call.arguments for call in calls}
    return "\n\n".join(_describe_result(result, asked.get(result.tool_use_id, {})) for result in results)


def _describe_result(result: ToolResultMessage, arguments: JsonObject) -> str:
    name = _quote_code(_describe_call(result.tool_name, arguments))
    said = result.output.strip("\n")
    if result.is_rejected:
        return _add_excerpt(f"{name} did not run", said)
    if result.is_error:
        return _add_excerpt(f"{name} failed", said)
    if result.tool_name == "run_command":
        return _describe_command_result(name, said)
    return _add_excerpt(name, said)


def _describe_command_result(name: str, said: str) -> str:
    """A command's ending first, then the end of what it printed, where test runners and compilers sum up."""
    lines = said.split("\n")
    last = next((at for at in range(len(lines) - 1, -1, -1) if _ENDING.fullmatch(lines[at])), None)
    if last is None:
        return _add_excerpt(name, said, tail=True)
    return _add_excerpt(f"{name} ended: {', '.join(lines[last:])}", "\n".join(lines[:last]), tail=True)


def _add_excerpt(head: str, said: str, *, tail: bool = False) -> str:
    if not said.strip():
        return head if head.endswith("`") else f"{head}."
    if "\n" not in said and len(said) <= _SHOWN_LINE:
        return f"{head}: {_quote_code(said, limit=_SHOWN_LINE)}"
    lines = said.split("\n")
    kept = lines[-_SHOWN_LINES:] if tail else lines[:_SHOWN_LINES]
    shown = "\n".join(_shorten(line, _SHOWN_LINE) for line in kept)
    fence = "`" * max(3, _measure_longest_ticks(shown) + 1)
    hidden = len(lines) - len(kept)
    count = f" ({'last' if tail else 'first'} {len(kept)} of {len(lines)} lines)" if hidden else ""
    return f"{head}{count}:\n{fence}text\n{shown}\n{fence}"


def _list_requests(requests: Sequence[Request]) -> str:
    return ", ".join(_quote_code(_describe_call(request.tool, request.arguments)) for request in requests)


def _describe_call(tool: str, arguments: JsonObject) -> str:
    """The tool with the argument that tells its calls apart, and where a search looks."""
    values = [(key, str(arguments[key])) for key in _PRINCIPAL if key in arguments]
    words = [_HERE if (key, value) == ("path", ".") else value for key, value in values]
    if tool == "grep_search":
        words.reverse()
    return " ".join([tool, *words])


def _quote_code(text: str, *, limit: int = _SHOWN_PART) -> str:
    """The text as one short line of code, whatever characters it holds."""
    visible = "".join(char if char.isprintable() else " " for char in text[: limit * 4])
    line = _shorten(" ".join(visible.split()), limit) or "(nothing readable)"
    ticks = "`" * (_measure_longest_ticks(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def _shorten(line: str, limit: int) -> str:
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _measure_longest_ticks(text: str) -> int:
    return max((len(run) for run in _TICKS.findall(text)), default=0)
