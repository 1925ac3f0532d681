"""Claude Code in its print mode, which reads and writes lines of JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path

from quorum.domain.conversation.effort import Effort
from quorum.domain.conversation.response import END_TURN, Usage
from quorum.domain.text.json_text import make_encoder
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.members.dialect import OWN_MODEL, STOPS, MemberAnswer, MemberTask
from quorum.infrastructure.models.members.failures import MemberFailures
from quorum.infrastructure.models.members.process import MemberProcess
from quorum.infrastructure.models.shared.json_fields import (
    read_count_field,
    read_object_field,
    read_objects_field,
    read_text_field,
)

_JSON = make_encoder()
_ANSWER_TOOL = "StructuredOutput"  # how it has its model give an answer by a schema
# No tool but that one, and nothing of the person's or the project's settings, servers, skills and sessions.
_OPTIONS = (
    "--print",
    *("--input-format", "stream-json"),
    *("--output-format", "stream-json"),
    *("--verbose", "--include-partial-messages"),
    *("--tools", ""),
    *("--setting-sources", ""),
    *("--permission-mode", "dontAsk"),
    "--strict-mcp-config",
    "--disable-slash-commands",
    "--no-session-persistence",
)


class ClaudeCli:
    """Implements `MemberDialect`."""

    def __init__(self, failures: MemberFailures) -> None:
        self._failures = failures

    def list_words(self, words: Sequence[str], task: MemberTask, folder: Path) -> Sequence[str]:
        """The system text lies in a file: everybody on the machine can read a command line."""
        system = folder / "system.txt"
        system.write_text(task.system, encoding="utf-8", errors="replace")
        chosen = ("--model", task.model) if task.model != OWN_MODEL else ()
        effort = ("--effort", task.effort.value) if task.effort is not Effort.DEFAULT else ()
        schema = ("--json-schema", _JSON.encode(task.schema)) if task.schema is not None else ()
        return (*words, *_OPTIONS, "--system-prompt-file", str(system), *chosen, *effort, *schema)

    def find_call(self, line: str) -> str:
        """Its messages tell of each call."""
        return ""

    async def make_ready(self, process: MemberProcess, task: MemberTask) -> None:
        """It waits for its first line once it is started."""

    async def ask(
        self, process: MemberProcess, task: MemberTask, prompt: str, on_text: Callable[[str], None]
    ) -> MemberAnswer:
        """Ask, and tell the text that arrives. Raises ProviderError."""
        await process.write_message({"type": "user", "message": {"role": "user", "content": prompt}})
        process.close_input()
        model = ""
        while True:
            message = await process.read_message()
            match message.get("type"):
                case "system" if message.get("subtype") == "init":
                    process.note_version(read_text_field(message, "claude_code_version"))
                case "system" if message.get("subtype") == "api_retry":
                    self._read_retry(process, message)
                case "stream_event":
                    process.note_progress()
                    delta = read_object_field(read_object_field(message, "event"), "delta")
                    if text := read_text_field(delta, "text"):
                        on_text(text)
                case "assistant":
                    said = read_object_field(message, "message")
                    model = read_text_field(said, "model") or model
                    self._check_calls(said)
                case "control_request":
                    raise self._failures.explain_call(_name_request(message))
                case "result":
                    return self._read_result(message, task, model)

    def _read_retry(self, process: MemberProcess, message: JsonObject) -> None:
        """It tries again for minutes, also where it has no valid login. Raises ProviderError there, once it has
        had a try to renew one."""
        status, attempt = read_count_field(message, "error_status"), read_count_field(message, "attempt") or 0
        what = read_text_field(message, "error")
        if status == HTTPStatus.UNAUTHORIZED and attempt > 1:
            raise self._failures.explain_reported(f"{what} ({status})", status)
        process.note_trouble(f"{what} ({status})" if status else what)

    def _check_calls(self, said: JsonObject) -> None:
        for block in read_objects_field(said, "content"):
            is_call = read_text_field(block, "type").endswith("tool_use")
            if is_call and (name := read_text_field(block, "name")) != _ANSWER_TOOL:
                raise self._failures.explain_call(name or "a tool")

    def _read_result(self, result: JsonObject, task: MemberTask, model: str) -> MemberAnswer:
        text = read_text_field(result, "result")
        if result.get("is_error") is not False:
            status = read_count_field(result, "api_error_status")
            raise self._failures.explain_reported(text or read_text_field(result, "subtype"), status)
        if task.schema is not None:
            given = result.get("structured_output")
            text = _JSON.encode(given) if isinstance(given, Mapping) else text
        usage = read_object_field(result, "usage")
        return MemberAnswer(
            text=text,
            model=model,
            usage=Usage(
                input=read_count_field(usage, "input_tokens") or 0,
                output=read_count_field(usage, "output_tokens") or 0,
                cache_read=read_count_field(usage, "cache_read_input_tokens") or 0,
                cache_write=read_count_field(usage, "cache_creation_input_tokens") or 0,
            ),
            stop=STOPS.get(read_text_field(result, "stop_reason"), END_TURN),
        )


def _name_request(message: JsonObject) -> str:
    request = read_object_field(message, "request")
    return read_text_field(request, "tool_name") or read_text_field(request, "subtype") or "a tool"
