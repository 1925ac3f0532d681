"""What else there is to know of a call: what speaks against it, what it touches and is given, what changed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from quorum.domain.calls.execution import Seal
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.tool_traits import find_traits
from quorum.domain.events.masking import MaskedPacket
from quorum.domain.review.lookalikes import find_lookalikes
from quorum.domain.review.questions import ReviewRequest, omit_guard
from quorum.domain.staging.effects_answer import find_effects_question
from quorum.domain.text.amounts import shorten_home
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.printable import split_paragraphs
from quorum.tui.screens.review.earlier import Earlier
from quorum.tui.screens.review.text.objections import Quotes, find_in_lines
from quorum.tui.screens.review.text.plan import find_plan, summarise_comparison, summarise_plan_rounds
from quorum.tui.screens.review.text.substance import find_command, render_substance
from quorum.tui.screens.review.text.title import build_title, relate_path
from quorum.tui.transcript.cells.lines import fit_text
from quorum.tui.transcript.kinds.diff import count_files
from quorum.tui.transcript.kinds.rows import (
    Line,
    LineKind,
    Row,
    Span,
    StyledPart,
    chop_text,
    clean_line,
    fold,
    place_spans,
    shorten_digest,
)


def describe_changes(before: ReviewPacket, now: ReviewPacket) -> tuple[str, ...]:
    """In words, how a packet differs from the one before; empty where it does not."""
    return tuple(_render_changes(before, now))


def _render_changes(before: ReviewPacket, now: ReviewPacket) -> Iterator[str]:
    old, new = before.seal, now.seal
    yield from _list_changed_arguments(before.call.arguments, now.call.arguments)
    yield from _list_changed_files(old, new)
    if old.diff != new.diff and old.files == new.files:
        yield "the diff"
    if old.cwd != new.cwd:
        yield f"the folder, which was {shorten_home(old.cwd)}"
    if old.executables != new.executables:
        yield f"the programs, which were {', '.join(old.executables) or 'none'}"
    if names := [name for name in {**old.environment, **new.environment} if _differs(name, old, new)]:
        yield f"the environment: {', '.join(names)}"
    if old.sandbox != new.sandbox:
        yield f"the sandbox, which was: {old.sandbox or 'none'}"
    if old.unsealed != new.unsealed:
        yield "what is not known"


def _list_changed_arguments(before: JsonObject, now: JsonObject) -> Iterator[str]:
    for name in {**before, **now}:
        if name not in before:
            yield f"{name}, which was not there"
        elif name not in now or before[name] != now[name]:
            yield f"{name}, which was {json.dumps(before[name], ensure_ascii=False)}"


def _list_changed_files(before: Seal, now: Seal) -> Iterator[str]:
    were = {file.path: file.sha256 for file in before.files}
    are = {file.path: file.sha256 for file in now.files}
    for path in {**were, **are}:
        if path not in are:
            yield f"{shorten_home(path)} is no longer touched"
        elif path not in were:
            yield f"{shorten_home(path)} is touched as well"
        elif were[path] != are[path]:
            yield f"{shorten_home(path)} ({_name_state(were[path])} before, {_name_state(are[path])} now)"


def _differs(name: str, before: Seal, now: Seal) -> bool:
    old, new = before.environment, now.environment
    return (name in old, old.get(name)) != (name in new, new.get(name))


# Folders that would be made have a row of their own.
_SAID_BY_DIFF = frozenset({"path", "content", "old_text", "new_text", "edits", "patch", "create_dirs"})
# What these let a command do is a reason to ask, or a warning.
_SAID_IN_TITLE = frozenset({"command", "working_dir"})
_SAID_BESIDE_COMMAND = _SAID_IN_TITLE | {"background", "outside_sandbox", "opens_git"}
_LABEL_CELLS = 14
_PREAMBLE_HEAD = "model: "
_BENDING = frozenset({"ENV", "BASH_ENV", "PROMPT_COMMAND", "PYTHONPATH", "PYTHONSTARTUP", "NODE_OPTIONS"})
_BENDING_FAMILIES = ("LD_", "DYLD_", "BASH_FUNC_", "GIT_SSH", "GIT_EXTERNAL_DIFF", "GIT_CONFIG")
_HIDDEN = "secrets are shown as [secret:NAME]; the call runs with the real ones"


class Facts(NamedTuple):
    """`dangers` are to be seen even where there is little room; `arguments` are part of what is approved."""

    dangers: list[Line]
    arguments: list[Line]


class _ReviewFact(NamedTuple):
    label: str
    text: str
    kind: LineKind = LineKind.PLAIN
    spans: tuple[Span, ...] = ()


def collect_facts(request: ReviewRequest, earlier: Earlier, *, root: str = "", quotes: Quotes = ()) -> Facts:
    """What has to be known of a call before it is answered, beside what would run; paths are relative to
    `root`, the folder of the session."""
    packet = request.packet
    dangers = [*summarise_comparison(request), *_explain_repetition(request, earlier)]
    dangers += summarise_plan_rounds(request)
    dangers += [_draw_danger(danger, request, root) for danger in request.dangers]
    dangers += [
        Line("! ", clean_line(text), LineKind.WARNING, LineKind.WARNING) for text in _render_warnings(packet)
    ]
    if find_plan(packet) is not None:
        dangers.append(Line("", "your yes lets what its tasks declare run unasked", LineKind.QUIET))
    arguments = [_ReviewFact("asked by", clean_line(packet.asked_by))] if packet.asked_by else []
    arguments += [
        _ReviewFact("also", text, spans=find_in_lines(quotes, [text])[0])
        for text in _render_other_arguments(packet)
    ]
    arguments += [_ReviewFact("makes folder", relate_path(folder, root)) for folder in packet.seal.folders[-1:]]
    arguments += [_ReviewFact("touches", relate_path(path, root)) for path in _list_unnamed_files(packet)]
    return Facts(dangers, list(_add_labels(arguments)))


def _draw_danger(danger: str, request: ReviewRequest, root: str) -> Line:
    kind = LineKind.WARNING if danger in request.notices else LineKind.BAD
    return Line(
        "! ",
        _count_reason(clean_line(relate_path(omit_guard(danger), root)), request.reasons.count(danger)),
        kind,
        kind,
    )


def _count_reason(text: str, times: int) -> str:
    """A reason that several parts of a call give is said once, with their number."""
    return text if times <= 1 else f"{text} · {times} times"


def summarise_dangers(dangers: Sequence[Line], width: int) -> Row:
    """The first of these lines in one row, red ones before the others, and how many more there are."""
    first, *others = sorted(dangers, key=lambda line: line.kind is not LineKind.BAD)
    more = f" · {len(others)} more" if others else ""
    text = f"{fit_text(f'{first.head}{first.text}', max(1, width - cell_len(more)))}{more}"
    return (StyledPart(text, first.kind),)


def list_details(request: ReviewRequest, *, spoken: bool = False) -> list[Line]:
    """Everything else that is known: why it is asked, what it touches, runs and is given, and its digest;
    `spoken`: words stand for signs."""
    packet, seal = request.packet, request.packet.seal
    found = [
        _ReviewFact("asks because", _count_reason(reason, request.reasons.count(reason)))
        for reason in dict.fromkeys(request.reasons)
    ]
    found.append(_ReviewFact("tool", packet.call.tool_name))
    found += [
        _ReviewFact("touches", f"{shorten_home(f.path)}  {_name_state(f.sha256, 'new file', spoken=spoken)}")
        for f in seal.files
    ]
    found += [_ReviewFact("runs", program) for program in seal.executables]
    found.append(_ReviewFact("in", shorten_home(seal.cwd)))
    found += [
        _ReviewFact("environment", f"{name} removed" if value is None else f"{name}={value}")
        for name, value in seal.environment.items()
    ]
    if seal.sandbox is not None:
        found.append(_ReviewFact("sandbox", seal.sandbox))
    if seal.unsealed:
        found.append(_ReviewFact("not known", seal.unsealed))
    found.append(_ReviewFact("fingerprint", packet.digest))
    return list(_add_labels(found))


def quote_preamble(preamble: str) -> Iterator[Line]:
    """All that the model wrote right before its calls."""
    if preamble.strip():
        yield Line("", "")
        yield from _add_labels(_ReviewFact("model wrote", line) for line in preamble.strip().split("\n"))


def render_preamble(preamble: str, width: int, height: int, key: str) -> list[Row]:
    """The paragraph that the model wrote last before its calls, in at most `height` rows of its own; `key`
    shows all that it wrote.
    """
    *before, last = split_paragraphs(preamble)
    if not last or height <= 0:
        return []
    read = last[: width * height + 1]
    text = clean_line(read)
    lead = "… " if before else ""
    rows = fold([Line(_PREAMBLE_HEAD, lead + text, LineKind.QUIET, LineKind.STRONG)], width)
    is_cut = len(rows) > height or read != last
    if not is_cut and not before:
        return rows
    mark = StyledPart(f"{'…' if is_cut else ''} {key}: all", LineKind.PLAIN)
    *whole, (head, rest) = rows[:height]
    room = max(1, width - cell_len(head.text) - cell_len(mark.text))
    return [*whole, (head, rest._replace(text=chop_text(rest.text.rstrip(), room)[0]), mark)]


def _render_warnings(packet: ReviewPacket) -> Iterator[str]:
    """What holds for every call of its kind, and is not to be overlooked."""
    is_command = find_command(packet) is not None
    if isinstance(packet, MaskedPacket):
        yield _HIDDEN
    if is_command and packet.call.arguments.get("background") is True:
        yield _render_background(packet)
    if not is_command and packet.seal.unsealed:
        yield packet.seal.unsealed
    if variables := [name for name, value in packet.seal.environment.items() if value and _bends(name)]:
        yield f"it is given {', '.join(variables)}, which changes what programs run"


def _bends(name: str) -> bool:
    return name in _BENDING or name.startswith(_BENDING_FAMILIES)


def _render_background(packet: ReviewPacket) -> str:
    limit = packet.call.arguments.get("timeout_secs")
    within = "" if limit is None else f", {limit} s at most"
    return f"it runs in the background{within}, until it ends, is stopped, or the session ends"


def _name_state(sha256: str | None, none: str = "no file", *, spoken: bool = False) -> str:
    return none if sha256 is None else f"sha {shorten_digest(sha256, spoken=spoken)}"


def _explain_repetition(request: ReviewRequest, earlier: Earlier) -> Iterator[Line]:
    if request.stale:
        changed = describe_changes(earlier.approved, request.packet) if earlier.approved is not None else ()
        for change in changed or ("what would run is no longer what was asked about before",):
            text = (
                f"changed since you approved: {change}" if changed else f"{change}; this is how it stands now"
            )
            yield Line("! ", clean_line(text), LineKind.WARNING, LineKind.WARNING)
    if earlier.is_edited:
        yield Line("", "you changed this call, so no vote counts for it: your answer alone decides")


def _add_labels(labelled: Iterable[_ReviewFact]) -> Iterator[Line]:
    before = ""
    for label, text, kind, spans in labelled:
        head = f"{'' if label == before else label:<{_LABEL_CELLS}}"
        yield Line(head, clean_line(text), kind, objected=place_spans(spans, text, clean_line))
        before = label


def _render_other_arguments(
    packet: ReviewPacket, beside_command: frozenset[str] = _SAID_BESIDE_COMMAND
) -> Iterator[str]:
    """Arguments that neither diff nor command shows."""
    if (effects := find_effects_question(packet.call.tool_name, packet.call.arguments)) is not None:
        yield from filter(None, effects.text.split("\n"))
        return
    said: frozenset[str]
    if packet.seal.diff:
        said = _SAID_BY_DIFF
    elif find_command(packet) is not None:
        said = beside_command
    elif packet.seal.diff is None:
        return
    else:
        said = frozenset()
    traits = find_traits(packet.call.tool_name)
    for name, value in packet.call.arguments.items():
        if name in said:
            continue
        words = traits.word_argument(name, value)
        if words is None or (not words and value):  # what is not in words is never left out
            words = f"{name} = {json.dumps(value, ensure_ascii=False)}"
        if words:
            yield words


def _list_unnamed_files(packet: ReviewPacket) -> Iterator[str]:
    """The files that neither the title nor a heading in the diff names; those of a command are details."""
    files = packet.seal.files
    if find_command(packet) is None and len(files) > 1 and count_files(packet.seal.diff or "") < len(files):
        yield from (file.path for file in files)


def list_calls(request: ReviewRequest, width: int, root: str, *, spoken: bool = False) -> list[Row]:
    """This call and the following ones, each in full; `spoken`: words stand for signs."""
    count = 1 + len(request.following)
    intro = f"These {count} run as you see them here, each at its turn. One that changes before is asked again."
    rows = fold([Line("", intro, LineKind.PLAIN)], width)
    for packet in (request.packet, *request.following):
        place = f"{packet.context.call_index + 1} of {request.batch_size}"
        title = f"{place}   {''.join(build_title(packet, root, spoken=spoken))}"
        rows += [(), *fold([Line("", title, LineKind.STRONG)], width)]
        substance = render_substance(packet, width - 2, spoken=spoken)
        rows += [(StyledPart("  ", LineKind.PLAIN), *row) for row in substance]
        others = [_ReviewFact("also", text) for text in _render_other_arguments(packet, _SAID_IN_TITLE)]
        others += [_ReviewFact("beware", text) for text in find_lookalikes(packet.call)]
        rows += fold([line._replace(head=f"  {line.head}") for line in _add_labels(others)], width)
    return rows
