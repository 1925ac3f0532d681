"""Makes a conversation shorter: what gives way, where it may be cut, what stands for what is gone."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct

from quorum.domain.calls.tool import ToolCall
from quorum.domain.calls.tool_traits import find_traits
from quorum.domain.conversation.context_size import estimate_bytes
from quorum.domain.conversation.history import AssistantMessage, Message, ToolResults, UserMessage
from quorum.domain.conversation.response import StopKind
from quorum.domain.replacing import replace
from quorum.domain.review.permission_rules import WRITERS
from quorum.domain.text.json_text import count_utf8_bytes, quote_key
from quorum.domain.text.json_value import JsonValue
from quorum.domain.text.patch import BadPatch, list_paths, parse_patch

_NOT_SHOWN = "no longer shown, to make room"


def select_attachments_to_hide(messages: Sequence[Message], *, spared: int) -> tuple[int, ...]:
    """The places of the messages whose attachments give way to lines that name them: all but the last `spared`
    that have any, and what the model has yet to answer."""
    shown = [place for place, each in enumerate(messages) if isinstance(each, UserMessage) and _shows(each)]
    old = shown[: len(shown) - spared] if spared else shown
    answers = (
        place for place in range(len(messages) - 1, -1, -1) if isinstance(messages[place], AssistantMessage)
    )
    answered = next(answers, -1)
    return tuple(place for place in old if place < answered)


def replace_attachments(messages: Sequence[Message], places: Collection[int]) -> tuple[Message, ...]:
    """The messages, those at these places without their attachments."""
    return tuple(
        remove_attachments(message) if place in places and isinstance(message, UserMessage) else message
        for place, message in enumerate(messages)
    )


def remove_attachments(message: UserMessage) -> UserMessage:
    """The message with all its images, documents and files given way to their names."""
    named = message.without(dict.fromkeys((each.sha256 for each in message.attachments), _NOT_SHOWN))
    return named.without_files() if any(file.is_attached for file in message.files) else named


def _shows(message: UserMessage) -> bool:
    return bool(message.attachments) or any(file.is_attached for file in message.files)


_OPENING = "[Summary of the conversation so far]"
_EXPLANATION = (
    "What was said and done before this message was summarised to make room. The person's own messages of that "
    "time stand before this one, oldest first{left_out}. What stands below was put together by the program and "
    "by a model: it reports, and asks for nothing. An output that it names as [blob:ID] can still be opened."
)
_LEFT_OUT = "; older ones are left out"
_PLAN = "Plan:"
_FILES = "Files last touched, newest first:"
_SUMMARY = "Summary:"
_MARKS = {"pending": "○", "in_progress": "●", "done": "✓"}
_STUCK = ("failed", "blocked", "unknown")
_MOST_FILES = 12
_LONGEST_PATH = 200
_LONGEST_PLAN = 4_000
_VERBS = {"read_file": "read", **dict.fromkeys(WRITERS, "changed")}
# Shorter than this, an output stays: what would stand for it is hardly shorter.
_WORTH_BYTES = 600


class LongOutput(Struct, frozen=True, kw_only=True):
    """An output that is to give way: its place, and the bytes it may keep; 0 means a short summary."""

    message: int
    result: int
    text: str
    most_bytes: int


class SummaryRoom(Struct, frozen=True, kw_only=True):
    """How many bytes each part of a compacted conversation may have: the messages that stay as they are, the
    person's own words before them, and the summary."""

    tail: int
    prompts: int
    summary: int


def select_outputs_to_shorten(
    messages: Sequence[Message], *, spared: int, entry_bytes: int, total_bytes: int
) -> tuple[LongOutput, ...]:
    """The outputs before the last `spared` batches that must be shortened, so that one has at most
    `entry_bytes` and all together at most `total_bytes`. The oldest give way first."""
    batches = [(place, each) for place, each in enumerate(messages) if isinstance(each, ToolResults)]
    old = batches[: len(batches) - spared] if spared else batches
    texts = {(place, index): each.output for place, batch in old for index, each in enumerate(batch.results)}
    sizes = {where: count_utf8_bytes(text) for where, text in texts.items()}
    total = sum(min(size, entry_bytes) for size in sizes.values())
    chosen: dict[tuple[int, int], int] = {}
    for where, size in sizes.items():
        if size <= _WORTH_BYTES:
            continue
        if total > total_bytes:
            chosen[where] = 0
            total -= min(size, entry_bytes)
        elif size > entry_bytes:
            chosen[where] = entry_bytes
    return tuple(
        LongOutput(message=where[0], result=where[1], text=texts[where], most_bytes=most)
        for where, most in chosen.items()
    )


def replace_outputs(messages: Sequence[Message], outputs: Mapping[tuple[int, int], str]) -> tuple[Message, ...]:
    """Return the messages with these texts in place of the outputs at (message, result).

    What files an output showed gives way with it.
    """
    changed = {place for place, _ in outputs}
    return tuple(
        ToolResults(
            tuple(
                replace(result, output=outputs[place, index], seen=()) if (place, index) in outputs else result
                for index, result in enumerate(message.results)
            )
        )
        if place in changed and isinstance(message, ToolResults)
        else message
        for place, message in enumerate(messages)
    )


def keep_head_and_tail(text: str, most_bytes: int) -> str:
    """Return the text, or both its ends with a note of how much is missing: about `most_bytes` bytes."""
    data = text.encode("utf-8", "replace")
    if len(data) <= most_bytes:
        return text
    half = max(0, most_bytes - 48) // 2
    head, tail = data[:half].decode(errors="ignore"), data[len(data) - half :].decode(errors="ignore")
    return f"{head}\n[… {len(data) - 2 * half} bytes left out …]\n{tail}"


def find_cut(messages: Sequence[Message], tail_bytes: int) -> int:
    """Where the past ends that a summary may stand for: as early as what follows has at most `tail_bytes`.

    Calls and their results stay together. What the model has yet to answer always stays, however long.
    """
    starts = [place for place, message in enumerate(messages) if not isinstance(message, ToolResults)]
    cut, size, end = len(messages), 0, len(messages)
    for start in reversed(starts):
        size += estimate_bytes(messages[start:end])
        if size > tail_bytes and not (end == len(messages) and _is_unanswered(messages)):
            break
        cut = end = start
    return cut


def compact(
    past: Sequence[Message],
    summary: str,
    room: SummaryRoom,
    *,
    following: Sequence[Message] = (),
    plan: JsonValue = None,
    focus: str | None = None,
) -> tuple[Message, ...]:
    """What stands in place of `past`, which `following` comes after: the person's own words as far as they
    fit, the newest first, then one message with the summary, the plan, the last files and the focus."""
    said = [remove_attachments(m).text for m in past if isinstance(m, UserMessage) and _is_said(m)]
    kept = _select_newest(said, room.prompts)
    explanation = _EXPLANATION.format(left_out=_LEFT_OUT if len(kept) < len(said) else "")
    sections = [
        f"{_OPENING}\n{explanation}",
        keep_head_and_tail(_format_section(_PLAN, _plan_lines(plan)), max(room.summary, _LONGEST_PLAN)),
        _format_section(_FILES, [f"- {path}" for path in list_last_files([*past, *following])]),
        f"Keep in view: {' '.join(focus.split())}" if focus else "",
        f"{_SUMMARY}\n{keep_head_and_tail(summary.strip(), room.summary)}",
    ]
    text = "\n\n".join(section for section in sections if section)
    return (*map(UserMessage, kept), UserMessage(text))


def _is_said(message: UserMessage) -> bool:
    return not message.of_call and not is_summary(message)


def is_summary(message: Message) -> bool:
    """Whether this message stands for a past that was summarised."""
    return isinstance(message, UserMessage) and message.text.startswith(_OPENING)


def list_last_files(messages: Sequence[Message]) -> tuple[str, ...]:
    """The files that were read or changed last, newest first, each once, on one line: "changed PATH"."""
    found: dict[str, str] = {}
    failed: frozenset[str] = frozenset()
    for message in reversed(messages):
        match message:
            case ToolResults(results):
                failed = frozenset(r.tool_use_id for r in results if r.is_error or r.is_rejected)
            case AssistantMessage(response):
                for call in reversed(response.tool_calls()):
                    verb = _VERBS.get(call.tool_name)
                    if verb and call.native_id not in failed:
                        for path in _list_paths(call):
                            _note(found, quote_key(path), verb)
            case UserMessage(text) if is_summary(message):
                for verb, path in _parse_files(text):
                    _note(found, path, verb)
            case UserMessage(files=files):
                for file in files:
                    if file.first_line:
                        _note(found, quote_key(file.name), "read")
    return tuple(f"{verb} {path}" for path, verb in list(found.items())[:_MOST_FILES])


def _list_paths(call: ToolCall) -> tuple[str, ...]:
    """The files that the arguments of a call name."""
    path, patch = call.arguments.get("path"), find_traits(call.tool_name).find_patch(call.arguments)
    if patch is not None:
        with suppress(BadPatch):
            return list_paths(parse_patch(patch))
    return (path,) if isinstance(path, str) else ()


def _is_unanswered(messages: Sequence[Message]) -> bool:
    last = messages[-1]
    if isinstance(last, AssistantMessage):
        return bool(last.response.tool_calls()) or last.response.stop_reason.kind in (
            StopKind.PAUSE,
            StopKind.MAX_TOKENS,
        )
    return True


def _note(found: dict[str, str], path: str, verb: str) -> None:
    """A file is where it was touched last; that it was changed counts more than that it was read.

    A path that is too long for a list is left out.
    """
    if count_utf8_bytes(path) <= _LONGEST_PATH and (path not in found or verb == "changed"):
        found[path] = verb


def _parse_files(text: str) -> Iterator[tuple[str, str]]:
    """What a former summary tells of files. Only what the program wrote is read, which comes first."""
    own, _, _ = text.partition(f"\n{_SUMMARY}\n")
    _, found, listed = own.partition(f"\n{_FILES}\n")
    for line in listed.split("\n") if found else ():
        verb, _, path = line.removeprefix("- ").partition(" ")
        if not line.startswith("- ") or verb not in ("changed", "read"):
            return
        yield verb, path


def _select_newest(said: Sequence[str], room: int) -> list[str]:
    """As many of the newest as fit, in their order; of the very newest at least both ends."""
    kept: list[str] = []
    for text in reversed(said):
        if count_utf8_bytes(text) > room:
            if not kept:
                kept.append(keep_head_and_tail(text, max(room, 200)))
            break
        kept.append(text)
        room -= count_utf8_bytes(text)
    return kept[::-1]


def _plan_lines(plan: JsonValue) -> list[str]:
    """One step a line, as the model knows it from its tool; what is no such plan stands as JSON."""
    if not plan:
        return []
    steps = [step for step in plan if isinstance(step, Mapping)] if isinstance(plan, Sequence) else []
    if isinstance(plan, str) or not isinstance(plan, Sequence) or len(steps) < len(plan):
        return [json.dumps(plan, ensure_ascii=False, default=str)]
    return [f"{number} {_describe_step(step)}" for number, step in enumerate(steps, start=1)]


def _describe_step(step: Mapping[str, JsonValue]) -> str:
    status = step.get("status")
    stuck = f" ({status})" if status in _STUCK else ""
    return f"{_MARKS.get(str(status), '○')} {step.get('text')}{stuck}"


def _format_section(title: str, lines: Sequence[str]) -> str:
    return "\n".join([title, *lines]) if lines else ""
