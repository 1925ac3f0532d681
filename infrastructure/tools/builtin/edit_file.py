"""edit_file: passages of a file replaced by others.

Where a passage is not found, the error says what resembles it, such as one that differs only in characters that
look the same or cannot be seen.
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Mapping
from difflib import SequenceMatcher
from heapq import nlargest
from typing import TYPE_CHECKING, NamedTuple

from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import Seal, ToolExecutionContext
from quorum.domain.calls.run_state import build_seen_file
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from quorum.domain.calls.tool_traits import CallEffect, OutputKind, ToolTraits
from quorum.domain.errors import ToolError
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.blocking import Stop, run_in_thread
from quorum.infrastructure.files.workspace import Location, Workspace
from quorum.infrastructure.tools.builtin.drafting import (
    Draft,
    build_seal,
    carry_out,
    decode_file,
    encode_file,
    read_content,
    read_projected,
    require_seal,
)
from quorum.infrastructure.tools.builtin.parts import (
    FILE_PARAMETER,
    declare_writing,
    require_flag,
    require_text,
)
from quorum.infrastructure.tools.builtin.seen import SeenFiles, require_unchanged

if TYPE_CHECKING:
    from quorum.infrastructure.tools.builtin.parts import ToolParts


_MOST_DIFFERENCES = 3
_LONGEST = 4_000
# Letters of other scripts, quotes and dashes as they stand for those of ASCII.
_ALIKE = str.maketrans(
    "аеорсухіјѕԁһАВЕКМНОРСТХІЈЅοαΑΒΕΖΗΙΚΜΝΟΡΤΥΧ‘’‚‛′“”„‟″‐‑‒–—―−",
    "aeopcyxijsdhABEKMHOPCTXIJSoaABEZHIKMNOPTYX'''''\"\"\"\"\"-------",
)


def describe_lookalike(content: str, old: str) -> str:
    """A sentence about where a passage stands in other characters, and which, with a space before it.

    Empty where it does not.
    """
    folded, places = _fold_text(content)
    wanted, _ = _fold_text(old)
    if not wanted.strip() or (at := folded.find(wanted)) < 0:
        return ""
    first, end = places[at], places[at + len(wanted) - 1] + 1
    while end < len(content) and not _fold(content[end]):
        end += 1
    differences = _list_differences(content[first:end], old)
    if not differences:
        return ""
    line = content.count("\n", 0, first) + 1
    return (
        f" A passage that differs only in characters that look alike or are not seen is at line {line}: "
        f"{'; '.join(differences)}. Copy it exactly as it is there, such characters as \\u escapes of JSON."
    )


def _fold_text(text: str) -> tuple[str, list[int]]:
    """The text without what cannot be told apart, and for each of its characters the place it comes from."""
    folded, places = [], []
    for place, character in enumerate(text):
        for each in character if character.isascii() and character != "\t" else _fold(character):
            folded.append(each)
            places.append(place)
    return "".join(folded), places


def _fold(character: str) -> str:
    if character == "\n":
        return character
    if character == "\t" or unicodedata.category(character) == "Zs":
        return " "
    if unicodedata.category(character) in ("Cf", "Cc"):
        return ""
    return unicodedata.normalize("NFKD", character.translate(_ALIKE)).translate(_ALIKE)


def _list_differences(there: str, old: str) -> list[str]:
    matcher = SequenceMatcher(None, there[:_LONGEST], old[:_LONGEST], autojunk=False)
    found = [
        f"the file has {_name(there[low:high])} where old_text has {_name(old[from_:to])}"
        for tag, low, high, from_, to in matcher.get_opcodes()
        if tag != "equal"
    ]
    more = ["and more"] if len(found) > _MOST_DIFFERENCES else []
    return found[:_MOST_DIFFERENCES] + more


def _name(characters: str) -> str:
    named = [f"U+{ord(each):04X} {unicodedata.name(each, '')}".strip() for each in characters[:4]]
    return " ".join(named) + (" …" if len(characters) > 4 else "") or "nothing"


_MOST_HINTS = 3
_MOST_LINES = 20_000
_ALIKE_SHARE = 0.6
_MOST_NUMBERS = 20
_MOST_PLACES = 100
_MOST_COMPARED = 100
_MOST_HINT_CHARS = 2_000_000
_LONGEST_HINT = 160
_LONGEST_PASSAGE = 1_000


def replace_text(content: str, old: str, new: str, *, everywhere: bool, name: str) -> tuple[str, int]:
    """The content with `old` replaced, and how often it was.

    Line ends follow the file: in a file of CRLF lines, LF in `old` and `new` means CRLF. Raises ToolError if
    the passage is not there, or is there more than once and not `everywhere` is meant.
    """
    if not old:
        raise ToolError("old_text is empty: give the passage to replace, or use write_file for a whole file")
    if old == new:
        raise ToolError("old_text and new_text are the same: there is nothing to change")
    old, new = _adopt_line_ends(content, old, new)
    if old not in content:
        before = ""
        if new.strip() and len(places := _find_places(content, new)) == 1:
            line = content.count("\n", 0, places[0]) + 1
            before = f" new_text stands at line {line} already: the edit may have been made before."
        raise ToolError(f"old_text was not found in {name}.{before}{describe_near_miss(content, old)}")
    if everywhere:
        return content.replace(old, new), content.count(old)
    places = _find_places(content, old)
    if len(places) > 1:
        numbers = _list_numbers(content, places)
        times = str(len(places)) if len(places) < _MOST_PLACES else f"{_MOST_PLACES} or more"
        raise ToolError(
            f"old_text matches {times} times in {name} ({numbers}): "
            "add surrounding lines until it is unique, or set replace_all to true"
        )
    return content[: places[0]] + new + content[places[0] + len(old) :], 1


def _adopt_line_ends(content: str, old: str, new: str) -> tuple[str, str]:
    windows = content.count("\r\n")
    if not windows:
        return old, new
    mixed = windows != content.count("\n")
    if mixed and old in content:
        return old, new
    return _describe_windows(old), _describe_windows(new)


def _describe_windows(passage: str) -> str:
    return passage.replace("\r\n", "\n").replace("\n", "\r\n")


def _find_places(content: str, old: str) -> list[int]:
    """Where the passage begins first; overlapping places count, because they are just as ambiguous."""
    places: list[int] = []
    at = content.find(old)
    while at >= 0 and len(places) < _MOST_PLACES:
        places.append(at)
        at = content.find(old, at + 1)
    return places


def _list_numbers(content: str, places: list[int]) -> str:
    numbers, line, reached = [], 1, 0
    for place in places[:_MOST_NUMBERS]:
        line += content.count("\n", reached, place)
        reached = place
        numbers.append(str(line))
    more = ", …" if len(places) > _MOST_NUMBERS else ""
    return f"lines {', '.join(numbers)}{more}"


def describe_near_miss(content: str, old: str) -> str:
    """A sentence about what in the content resembles a passage that is not there, with a space before it."""
    lines = [line.rstrip() for line in content[:_MOST_HINT_CHARS].split("\n")[:_MOST_LINES]]
    wanted = [line.strip() for line in old.strip().split("\n")]
    if not any(wanted):
        return " Read the file again."
    if alike := describe_lookalike(content[:_MOST_HINT_CHARS], old):
        return alike
    if (passage := _find_spaced_passage(content[:_MOST_HINT_CHARS], old)) is not None:
        first, text = passage
        last = first + text.count("\n")
        where = f"line {first}" if first == last else f"lines {first}-{last}"
        exact = json.dumps(text, ensure_ascii=False)
        shown = f", which is in JSON {exact}" if len(exact) <= _LONGEST_PASSAGE else ""
        return (
            f" A passage that differs only in white space is at {where}: copy it exactly as it is there{shown}."
        )

    similar = _find_similar(lines, next(line for line in wanted if line))
    if not similar:
        return " No line resembles it: read the file again."
    return " The most similar lines are:\n" + "\n".join(similar)


def _find_spaced_passage(content: str, old: str) -> tuple[int, str] | None:
    """The passage that is this one but for its white space, and the number of its line. Takes linear time."""
    places = [at for at, character in enumerate(content) if not character.isspace()]
    found = "".join(content[at] for at in places).find(squeezed := "".join(old.split()))
    if found < 0:
        return None
    begin, end = places[found], places[found + len(squeezed) - 1] + 1
    line_start = content.rfind("\n", 0, begin) + 1
    if not content[line_start:begin].strip():
        begin = line_start
    return content.count("\n", 0, begin) + 1, content[begin:end]


def _find_similar(lines: list[str], wanted: str) -> list[str]:
    """The lines most like this one. Only those are compared letter by letter that could be the most similar."""
    wanted = wanted[:_LONGEST_HINT]
    matcher = SequenceMatcher(autojunk=False, b=wanted)
    letters = Counter(wanted)
    places: dict[str, list[int]] = {}
    for number, line in enumerate(lines, start=1):
        same = places.setdefault(line.strip()[:_LONGEST_HINT], [])
        if len(same) < _MOST_HINTS:
            same.append(number)
    could_be = [(_estimate_likeness(line, wanted, letters), line) for line in places]
    scored: list[tuple[float, int]] = []
    for most, line in nlargest(_MOST_COMPARED, could_be, key=lambda each: each[0]):
        if most < _ALIKE_SHARE:
            break
        matcher.set_seq1(line)
        scored += [(ratio, number) for number in places[line] if (ratio := matcher.ratio()) >= _ALIKE_SHARE]
    best = sorted(scored, key=lambda s: (-s[0], s[1]))[:_MOST_HINTS]
    return [f"{number}\t{lines[number - 1][:_LONGEST_HINT]}" for _, number in best]


def _estimate_likeness(line: str, wanted: str, letters: Counter[str]) -> float:
    """At least the ratio of a comparison letter by letter: how many letters both have, wherever they stand."""
    both = len(line) + len(wanted)
    if 2 * min(len(line), len(wanted)) < _ALIKE_SHARE * both:
        return 0.0
    return 2 * (letters & Counter(line)).total() / both


_EDIT: JsonObject = {
    "type": "object",
    "properties": {
        "old_text": {"type": "string"},
        "new_text": {"type": "string"},
        "replace_all": {"type": "boolean"},
    },
    "required": ["old_text", "new_text"],
    "additionalProperties": False,
}

TRAITS = ToolTraits(
    verb="edit",
    title="Edit",
    output=OutputKind.CHANGES,
    text="new_text",
    texts="edits",
    wording={"old_text": "", "new_text": "", "edits": "", "replace_all": "every occurrence"},
    kind="edit",
    effect=CallEffect.EDIT,
    arguments=("path", "old_text", "new_text", "replace_all", "edits"),
    instead=("apply_patch", "write_file"),
)


def build(parts: ToolParts) -> EditFile:
    return EditFile(parts.workspace, parts.seen)


class EditFile:
    """Replaces passages, all or none. Encoding, byte order mark and line ends of the file stay as they are."""

    def __init__(self, workspace: Workspace, seen: SeenFiles) -> None:
        self._workspace = workspace
        self._seen = seen
        self.definition = ToolDefinition(
            name="edit_file",
            description=(
                "Replace a passage of a file: old_text must occur exactly once (or set replace_all) and be "
                "copied exactly, with indentation, without the line numbers that read_file "
                "shows. If the file changed since you last saw it, read it again first."
            ),
            parameters=(
                FILE_PARAMETER,
                ToolParameter(
                    name="old_text",
                    type="string",
                    description="The passage, with enough around it to be unique.",
                ),
                ToolParameter(
                    name="new_text",
                    type="string",
                    description="What replaces it; empty deletes it.",
                ),
                ToolParameter(name="replace_all", type="boolean"),
                ToolParameter(
                    name="edits",
                    type="array",
                    description=(
                        "Several replacements instead, in this order, each on what those before it left; all "
                        "or none."
                    ),
                    items=_EDIT,
                ),
            ),
            risk=RiskLevel.HIGH,
            access=self._determine_access,
        )

    async def seal(self, arguments: JsonObject, projected: Mapping[str, bytes]) -> Seal:
        """The diff on what the file holds or will hold. Raises ToolError if the edit cannot succeed."""

        def build(stop: Stop) -> Seal:
            location = self._workspace.locate(require_text(arguments, "path"))
            before = read_projected(projected, self._workspace, location)
            if location.path not in projected:
                require_unchanged(self._workspace, self._seen, location, before)
            return build_seal(self._workspace, self._draft(arguments, location, before, stop)[0])

        return await run_in_thread(build)

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str:
        """Make the edit. Raises StaleSeal if the file is not as it was approved, and ToolError."""
        return await run_in_thread(lambda stop: self._edit(arguments, context, stop), context.controls)

    def _determine_access(self, arguments: JsonObject) -> Access:
        return declare_writing([self._workspace.resolve(require_text(arguments, "path"))])

    def _edit(self, arguments: JsonObject, context: ToolExecutionContext, stop: Stop) -> str:
        seal = context.controls.seal
        location = self._workspace.locate(require_text(arguments, "path"))
        before = read_content(self._workspace, location)
        require_seal(self._workspace, seal, location, before)
        require_unchanged(self._workspace, self._seen, location, before)
        draft, count = self._draft(arguments, location, before, stop)
        known = self._seen.find_knowledge(location.path)
        written = carry_out(self._workspace, draft, sealed=seal is not None, stop=stop)
        self._seen.note_written(context, build_seen_file(location.path, written.sha256, known))
        times = "1 replacement" if count == 1 else f"{count} replacements"
        done = f"edited {self._workspace.format_path(location.path)}: {times}"
        return f"{done}; {written.note}" if written.note else done

    def _draft(
        self, arguments: JsonObject, location: Location, before: bytes | None, stop: Stop
    ) -> tuple[Draft, int]:
        name = self._workspace.format_path(location.path)
        if before is None:
            raise ToolError(f"{name} does not exist: use write_file to create it")
        encoding, content = decode_file(before, name)
        edited, count = content, 0
        replacements = _read_replacements(arguments)
        for number, each in enumerate(replacements, start=1):
            stop.check()
            try:
                edited, times = replace_text(edited, each.old, each.new, everywhere=each.everywhere, name=name)
            except ToolError as error:
                if len(replacements) == 1:
                    raise
                raise ToolError(
                    f"edit {number} of {len(replacements)}, nothing was written: {error}"
                ) from error
            count += times
        if edited == content:
            raise ToolError(f"{name} would stay as it is: the replacements change nothing")
        return Draft(location=location, before=before, after=encode_file(edited, encoding, name)), count


class _Replacement(NamedTuple):
    """One passage, and what takes its place: at the only occurrence, or `everywhere`."""

    old: str
    new: str
    everywhere: bool


def _read_replacements(arguments: JsonObject) -> list[_Replacement]:
    """What a call asks for, in either form. Raises ToolError for both forms, neither, or what is no edit."""
    edits = arguments.get("edits")
    if not edits and "old_text" in arguments:
        return [_read_replacement(arguments)]  # an empty list is one that was left out
    if edits is None:
        return [_read_replacement(arguments)]
    if not isinstance(edits, list | tuple) or not all(isinstance(edit, Mapping) for edit in edits):
        raise ToolError("edits must be a list of objects with old_text and new_text")
    if not edits:
        raise ToolError("edits is empty: give at least one replacement")
    single = [name for name in ("old_text", "new_text", "replace_all") if arguments.get(name)]
    if single:
        raise ToolError(f"give either edits or {single[0]}, not both: put every replacement into edits")
    return [_read_replacement(edit) for edit in edits if isinstance(edit, Mapping)]


def _read_replacement(edit: JsonObject) -> _Replacement:
    for name in ("old_text", "new_text"):
        if edit.get(name) is None:
            raise ToolError(f"{name} is missing: give old_text and new_text, or a list of them as edits")
    return _Replacement(
        require_text(edit, "old_text"), require_text(edit, "new_text"), require_flag(edit, "replace_all")
    )
