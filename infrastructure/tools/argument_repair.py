"""Arguments of calls as near to the schema of their tool as they can be read, where one reading exists."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping, Sequence

import msgspec

from quorum.domain.text.fuzzy import count_edits, find_nearest_word
from quorum.domain.text.json_text import name_json_type, read_python, read_python_words, require_one_value
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.pattern import compile_once

_INTEGER = r"[+-]?\d{1,18}(?:\.0+)?"
_NUMBER = r"[+-]?(?:\d{1,18}(?:\.\d{1,18})?|\.\d{1,18})(?:[eE][+-]?\d{1,3})?"
_SEPARATORS = r"[^a-z0-9]+"
_SHORTEST_NEAR_NAME = 4
_DEEPEST = 20
_MOST_LISTED = 20
_LONGEST_LISTED = 60
_FEWEST_MILLISECONDS = 1_000
_COMMAND = "command"
# Names that models know from other tools, for one meaning each.
_ALIASES = tuple(
    frozenset(names.split())
    for names in (
        "path filepath file filename targetfile absolutepath relativepath notebookpath",
        "path directory dir folder directorypath basedir root cwd",
        "command cmd script shellcommand commandline",
        "oldtext oldstring oldstr old search find original",
        "newtext newstring newstr new replace replacement updated",
        "content contents filetext text filecontent filecontents body",
        "pattern query regex regexp searchpattern glob searchterm",
        "url uri link address href",
        "offset start startline fromline",
        "limit maxlines linelimit numlines count",
        "timeoutsecs timeout timeoutseconds",
        "workingdir workdir workingdirectory cwd directory dir",
        "background isbackground runinbackground",
        "replaceall all replaceallmatches global",
        "items tasks todos steps plan todolist entries",
        "text step task todo activity",
        "filepattern include glob fileglob includepattern filefilter",
    )
)

# What models say to tools of other agents to explain a call; it changes nothing of what the call does. A
# description is that of a command alone: other tools may be told by it what they are to make.
_EXPLAINING = frozenset({"explanation", "reason", "rationale", "justification", "thought"})
_DESCRIPTION = "description"
# Words that make several commands of what looks like the words of one.
_OPERATORS = frozenset({"|", "||", "&", "&&", ";", ">", ">>", "<", "<<", "<<<", "2>", "2>&1", "&>", "|&"})
# Where a zero that may not be stands for no value: where to begin, how much to read, how long to wait.
_UNSET_AT_ZERO = frozenset(
    {
        *("offset", "start", "startline", "fromline", "first", "line", "page"),
        *("limit", "maxlines", "linelimit", "numlines", "timeout", "timeoutsecs", "timeoutseconds"),
    }
)

# Under what models put all arguments of a call, as in the call itself, and what stands beside it there.
_ENVELOPES = frozenset({"arguments", "parameters", "params", "input", "args", "kwargs"})
_ENVELOPE_NAMES = frozenset({"name", "tool", "tool_name", "function"})
_SAID_BOOLEANS = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}
_CONTENT = "content"
_ABSENT_WORDS = frozenset({"", "null", "none", "undefined"})


def repair_arguments(
    schema: JsonObject, arguments: JsonObject, tool: str
) -> tuple[dict[str, JsonValue], tuple[str, ...]]:
    """The arguments as near to the schema as they can be read, and what was changed for that."""
    reading = _ArgumentReading(schema)
    given = _unwrap(reading, arguments, tool)
    repaired = _repair_object(reading, schema, given, "", 0)
    return repaired, tuple(reading.repairs)


def respell_names(schema: JsonObject, arguments: JsonObject) -> tuple[JsonObject, tuple[str, ...]]:
    """Arguments that fit as the schema leaves room for others, with names that are spelled in another way than
    its own as it has them, and what was changed for that."""
    reading = _ArgumentReading(schema)
    respelled = _respell(reading, schema, arguments, "", 0)
    return (respelled if isinstance(respelled, Mapping) else arguments), tuple(reading.repairs)


def _respell(
    reading: _ArgumentReading, schema: JsonObject, value: JsonValue, place: str, depth: int
) -> JsonValue:
    schema, items = reading.flatten(schema), schema.get("items")
    if depth > _DEEPEST:
        return value
    if isinstance(value, list | tuple) and isinstance(items, Mapping):
        return [
            _respell(reading, items, each, f"{place}[{number}]", depth + 1) for number, each in enumerate(value)
        ]
    properties = _get_properties(schema)
    if not isinstance(value, Mapping) or not properties:
        return value
    respelled: dict[str, JsonValue] = {}
    is_map = "additionalProperties" in schema or "patternProperties" in schema  # whose names are data
    for name, each in value.items():
        own = name if name in properties or is_map else _find_respelled(name, value, list(properties))
        if own != name:
            reading.note(f"{place}{name[:80]} was read as {own}")
        respelled[own] = _respell(reading, _get_object(properties, own), each, f"{place}{own}.", depth + 1)
    return respelled


def _find_respelled(name: str, given: JsonObject, properties: Sequence[str]) -> str:
    """The one argument that is spelled in another way in this name, and in no other that was given."""
    plain = _make_plain(name)
    same = [each for each in properties if _make_plain(each) == plain]
    is_free = plain and sum(_make_plain(each) == plain for each in given) == 1
    return same[0] if len(same) == 1 and is_free else name


class _ArgumentReading(msgspec.Struct):
    """What was changed so far in arguments of this schema, of which references name parts."""

    schema: JsonObject
    repairs: list[str] = msgspec.field(default_factory=list)

    def note(self, repair: str) -> None:
        self.repairs.append(repair)

    def flatten(self, schema: JsonObject) -> JsonObject:
        """The schema with what it refers to, or the only branch that it has beside null, put in its place."""
        for _ in range(_DEEPEST):
            simpler = _flatten(self._follow(schema))
            if simpler is schema:
                break
            schema = simpler
        return schema

    def _follow(self, schema: JsonObject) -> JsonObject:
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#"):
            return schema
        part: JsonValue = self.schema
        for step in reference[1:].split("/")[1:]:
            part = part.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(part, Mapping) else None
        if not isinstance(part, Mapping):
            return schema
        return {**part, **{key: value for key, value in schema.items() if key != "$ref"}}


def _unwrap(reading: _ArgumentReading, arguments: JsonObject, tool: str) -> JsonObject:
    """What stands in a whole call of this tool that was given as its arguments."""
    held = [name for name in arguments if name in _ENVELOPES]
    beside = {name: each for name, each in arguments.items() if name not in _ENVELOPES}
    is_call = all(name in _ENVELOPE_NAMES and each == tool for name, each in beside.items())
    if len(held) != 1 or not is_call or not _get_properties(reading.schema).keys().isdisjoint(arguments):
        return arguments
    inside = arguments[held[0]]
    if isinstance(inside, str):
        inside = _decode(inside, dict)
    if not isinstance(inside, Mapping):
        return arguments
    reading.note(f"what stands in {held[0]} was read as the arguments")
    return inside


def build_example(schema: JsonObject, arguments: JsonObject) -> str:
    """A call's arguments as JSON, with all that is required: what is known of them, and … for the rest."""
    properties = _get_properties(schema)
    required = schema.get("required")
    names = [name for name in (required if isinstance(required, list) else ()) if isinstance(name, str)]
    lists = [name for name in arguments if name not in names and name in properties]
    names += [
        name
        for name in lists
        if "array" in _list_kinds(one := _get_object(properties, name)) or _is_outside(one, arguments[name])
    ]
    known = {
        name: value
        for name, value in arguments.items()
        if _is_short(value)
        and _accepts(below := _get_object(properties, name), value)
        and name in properties
        and not _is_outside(below, value)
    }
    example = {**{name: known.get(name, _make_sample(properties.get(name))) for name in names}}
    return json.dumps(example, ensure_ascii=False)


def explain_unknown_names(schema: JsonObject, arguments: JsonObject) -> tuple[str, ...]:
    """For each argument that the schema has not, the name that is nearest; all names where none is near."""
    properties = list(_get_properties(schema))
    hints: list[str] = []
    is_lost = False
    for name in arguments:
        if name not in properties:
            near = next(iter(_find_aliases(name, properties)), None) or find_nearest_word(name, properties)
            if near is not None:
                hints.append(f"{name[:80]!r} is no argument of it; the nearest is {near!r}")
            is_lost = is_lost or near is None
    if is_lost and schema.get("additionalProperties") is False:
        hints.append(f"its arguments are {list_some(properties)}" if properties else "it takes no arguments")
    return tuple(hints)


def list_some(values: Sequence[JsonValue]) -> str:
    """Values as JSON, so many that a sentence stays one."""
    shown = [f"{json.dumps(each, ensure_ascii=False, default=str)[:_LONGEST_LISTED]}" for each in values]
    rest = f" and {len(shown) - _MOST_LISTED} more" if len(shown) > _MOST_LISTED else ""
    return ", ".join(shown[:_MOST_LISTED]) + rest


def _repair_object(
    reading: _ArgumentReading, schema: JsonObject, value: JsonObject, place: str, depth: int
) -> dict[str, JsonValue]:
    properties, others = _get_properties(schema), schema.get("additionalProperties")
    if (not properties and not isinstance(others, Mapping)) or depth > _DEEPEST:
        return dict(value)
    listed = schema.get("required")
    required = listed if isinstance(listed, list) else []
    given = _rename(reading, value, list(properties), place)
    repaired: dict[str, JsonValue] = {}
    for name, each in given.items():
        below = properties.get(name, others)
        below = reading.flatten(below) if isinstance(below, Mapping) else below
        is_closed = others is False
        explains = name in _EXPLAINING or (name == _DESCRIPTION and _COMMAND in properties)
        if is_closed and name not in properties and explains and isinstance(each, str):
            reading.note(f"{place}{name}: the explanation was left out")
        elif (
            is_closed
            and name not in properties
            and (each is None or _is_said_twice(name, each, given, list(properties)))
        ):
            reading.note(f"{place}{name[:80]} was left out, as it adds nothing")
        elif not isinstance(below, Mapping):
            repaired[name] = each
        elif (
            name == _COMMAND
            and _list_kinds(below) == ["string"]
            and _are_words(each)
            and "commands" not in value
        ):
            reading.note(f"{place}{name}: its words were joined")
            repaired[name] = shlex.join(map(str, each if isinstance(each, list | tuple) else ()))
        elif name == _COMMAND and _list_kinds(below) == ["string"] and (line := _join_listed(each)):
            reading.note(f"{place}{name}: the words of its list were joined")
            repaired[name] = line
        elif name == _CONTENT and _list_kinds(below) == ["string"] and isinstance(each, Mapping):
            reading.note(f"{place}{name}: an object was read as its JSON")
            repaired[name] = json.dumps(each, ensure_ascii=False, indent=2)
        elif name not in required and _is_absent(below, each, name):
            reading.note(f"{place}{name}: {json.dumps(each)} was left out")
        else:
            repaired[name] = _repair_value(reading, below, each, f"{place}{name}", depth + 1)
    return repaired


def _is_absent(schema: JsonObject, value: JsonValue, name: str) -> bool:
    """Whether a value that does not fit is how models leave an argument out."""
    if _find_allowed(schema, value) is not None:
        return False
    if isinstance(value, str):
        said = value.strip().lower()
        # of several choices "none" may mean that it is to be none of them, which is no default
        is_empty = said in _ABSENT_WORDS and not (said == "none" and "enum" in schema)
    elif isinstance(value, list | tuple | Mapping):
        is_empty = not value and not {"array", "object"}.isdisjoint(_list_kinds(schema))
    else:
        is_zero = value == 0 and not isinstance(value, bool) and _make_plain(name) in _UNSET_AT_ZERO
        is_empty = value is None or (is_zero and _is_below_bound(schema, value))
    allowed = schema.get("enum")
    is_allowed = value is None or not isinstance(allowed, list) or value in allowed
    return is_empty and not (_accepts(schema, value) and is_allowed and not _is_below_bound(schema, value))


def _is_below_bound(schema: JsonObject, value: JsonValue) -> bool:
    least = schema.get("minLength" if isinstance(value, str) else "minimum")
    size = len(value) if isinstance(value, str) else value
    return isinstance(least, int) and isinstance(size, int | float) and size < least


def _is_said_twice(name: str, value: JsonValue, given: JsonObject, properties: Sequence[str]) -> bool:
    """Whether an argument says under another name what one of the tool's own says."""
    return any(given[each] == value for each in _find_aliases(name, properties) if each in given)


def _are_words(value: JsonValue) -> bool:
    """Whether a list is the words of one command, and not several commands or parts of a pipe."""
    if not isinstance(value, list | tuple) or len(value) < 2:
        return False
    words = [each for each in value if isinstance(each, str)]
    are_texts = len(words) == len(value) and bool(words[0]) and not any(map(str.isspace, words[0]))
    return are_texts and _OPERATORS.isdisjoint(words)


def _join_listed(value: JsonValue) -> str:
    """The command line of a text that is a list of its words in JSON; empty where it is anything else."""
    listed = _load(value) if isinstance(value, str) and value.lstrip().startswith('["') else None
    if isinstance(listed, list) and len(listed) == 1 and isinstance(listed[0], str):
        return listed[0]
    return shlex.join(map(str, listed)) if isinstance(listed, list) and _are_words(listed) else ""


def _rename(
    reading: _ArgumentReading, value: JsonObject, properties: Sequence[str], place: str
) -> dict[str, JsonValue]:
    free = [name for name in properties if name not in value]
    wishes = {name: _find_aliases(name, free) for name in value if name not in properties}
    renamed: dict[str, JsonValue] = {}
    for name, each in value.items():
        targets = wishes.get(name, [])
        rivals = [other for other, theirs in wishes.items() if set(theirs) & set(targets)]
        if len(targets) == 1 and len(rivals) == 1 and not _may_be_milliseconds(name, targets[0], each):
            reading.note(f"{place}{name[:80]} was read as {targets[0]}")
            renamed[targets[0]] = each
        else:
            renamed[name] = each
    return renamed


def _may_be_milliseconds(name: str, target: str, value: JsonValue) -> bool:
    """Whether a limit in no unit is one of milliseconds, as some agents take it, as well as of seconds."""
    if _make_plain(name) != "timeout" or "sec" not in target:
        return False
    number = _convert("number", value) if isinstance(value, str) else value
    return isinstance(number, int | float) and number >= _FEWEST_MILLISECONDS


def _find_aliases(name: str, free: Sequence[str]) -> list[str]:
    """Those of the names that this one can stand for."""
    plain = {each: _make_plain(each) for each in free}
    own = _make_plain(name)
    if same := [each for each in free if plain[each] == own]:
        return same
    if known := [each for each in free if any({own, plain[each]} <= group for group in _ALIASES)]:
        return known
    if len(own) < _SHORTEST_NEAR_NAME or len(own) > 80:
        return []
    return [
        each
        for each in free
        if len(plain[each]) >= _SHORTEST_NEAR_NAME
        and _list_digits(plain[each]) == _list_digits(own)  # those that are numbered are not each other
        and count_edits(own, plain[each]) == 1
    ]


def _make_plain(name: str) -> str:
    return compile_once(_SEPARATORS).sub("", name.lower())


def _list_digits(name: str) -> list[str]:
    return [each for each in name if each.isdigit()]


def _repair_value(
    reading: _ArgumentReading, schema: JsonObject, value: JsonValue, place: str, depth: int
) -> JsonValue:
    schema = reading.flatten(schema)
    kinds = _list_kinds(schema)
    if depth > _DEEPEST:
        return value
    if _is_of(value, kinds):
        if (meant := _find_allowed(schema, value)) is not None:
            reading.note(f"{place}: {value!r} was read as {meant!r}")
            return meant
        return _repair_within(reading, schema, value, place, depth)
    wanted = [kind for kind in kinds if kind != "null"]
    if len(wanted) != 1:
        return value
    found = _convert(wanted[0], value)
    if found is None and wanted[0] == "array":
        found = _read_only_item(reading, schema, value)
    if found is None and wanted[0] == "object":
        found = _read_only_text(schema, value)
    if found is None:
        return value
    reading.note(f"{place}: {_name_kind(value)} was read as {wanted[0]}")
    return _repair_within(reading, schema, found, place, depth)


def _repair_within(
    reading: _ArgumentReading, schema: JsonObject, value: JsonValue, place: str, depth: int
) -> JsonValue:
    if isinstance(value, Mapping):
        return _repair_object(reading, schema, value, f"{place}.", depth)
    items = schema.get("items")
    if isinstance(value, list | tuple) and isinstance(items, Mapping):
        return [
            _repair_value(reading, items, each, f"{place}[{number}]", depth + 1)
            for number, each in enumerate(value)
        ]
    return value


def _convert(kind: str, value: JsonValue) -> JsonValue:
    """The value of this kind that it stands for; None where it stands for none, or for several."""
    if (
        isinstance(value, list | tuple)
        and len(value) == 1
        and kind in ("string", "integer", "number", "boolean")
    ):
        return value[0] if _is_of(value[0], [kind]) else None
    # a version such as 3.10 is no longer what it was once it is a number
    if kind == "string" and isinstance(value, int) and not isinstance(value, bool):
        return json.dumps(value)
    if kind == "boolean" and isinstance(value, int) and value in (0, 1):
        return bool(value)
    if not isinstance(value, str):
        return None
    text = value.strip()
    if kind == "integer" and compile_once(_INTEGER).fullmatch(text):
        return int(text.partition(".")[0])
    if kind == "number" and compile_once(_NUMBER).fullmatch(text) and math.isfinite(number := float(text)):
        return number
    if kind == "boolean":
        return _SAID_BOOLEANS.get(text.lower())
    if kind in ("array", "object"):
        return _decode(text, list if kind == "array" else dict)
    return None


def _decode(text: str, kind: type[list[JsonValue]] | type[dict[str, JsonValue]]) -> JsonValue:
    for _ in range(2):
        value = next(
            (
                read
                for each in (text, read_python(text), read_python_words(text))
                if (read := _load(each)) is not None
            ),
            None,
        )
        if isinstance(value, kind):
            return value
        if not isinstance(value, str):
            return None
        text = value
    return None


def _load(text: str) -> JsonValue:
    """The value of a text that is JSON; None where it is none."""
    try:
        value: JsonValue = json.loads(text, object_pairs_hook=require_one_value)
    except (ValueError, RecursionError):
        return None
    return value


def _find_allowed(schema: JsonObject, value: JsonValue) -> str | int | float | None:
    """The one value of an enumeration that this text is but for its case and the space around it."""
    allowed = schema.get("enum")
    if not isinstance(allowed, list) or not isinstance(value, str) or value in allowed:
        return None
    plain = value.strip().lower()
    same = [each for each in allowed if isinstance(each, str | int | float) and str(each).lower() == plain]
    return same[0] if len(same) == 1 else None


def _is_outside(schema: JsonObject, value: JsonValue) -> bool:
    """Whether a value is none of an enumeration."""
    allowed = schema.get("enum")
    return isinstance(allowed, list) and value not in allowed


def _read_only_item(reading: _ArgumentReading, schema: JsonObject, value: JsonValue) -> list[JsonValue] | None:
    """A list of what it holds; a text that begins as JSON is one that could not be read, and one with commas or
    lines may be several."""
    items = schema.get("items")
    if not isinstance(items, Mapping):
        return None
    if isinstance(value, str) and (value.lstrip()[:1] in ("[", "{") or not {",", "\n"}.isdisjoint(value)):
        return None
    kinds = _list_kinds(reading.flatten(items))
    if kinds and _is_of(value, kinds):
        return [value]
    found = _convert(kinds[0], value) if len(kinds) == 1 and isinstance(value, str) else None
    if found is None and kinds == ["object"]:
        found = _read_only_text(reading.flatten(items), value)
    return None if found is None else [found]


def _read_only_text(schema: JsonObject, value: JsonValue) -> JsonObject | None:
    """An object of the one text that it must have; a text that begins as JSON is one that could not be read."""
    listed = schema.get("required")
    if not isinstance(value, str) or not value.strip() or value.lstrip()[:1] in ("[", "{"):
        return None
    if not isinstance(listed, list) or len(listed) != 1:
        return None
    only = _get_properties(schema).get(str(listed[0]))
    return {str(listed[0]): value} if isinstance(only, Mapping) and _list_kinds(only) == ["string"] else None


def _list_kinds(schema: JsonObject) -> list[str]:
    """The types that a schema names; none where it names none, and anything goes."""
    named = schema.get("type")
    if isinstance(named, str):
        return [named]
    if isinstance(named, list):
        return [each for each in named if isinstance(each, str)]
    branches = schema.get("anyOf") or schema.get("oneOf")
    if not isinstance(branches, list):
        return []
    kinds = [_list_kinds(each) if isinstance(each, Mapping) else [] for each in branches]
    return [kind for each in kinds for kind in each] if all(kinds) else []


def _flatten(schema: JsonObject) -> JsonObject:
    """The schema with the only branch that it has beside null put in its place; itself where it has none."""
    for union in ("anyOf", "oneOf", "allOf"):
        branches = schema.get(union)
        if not isinstance(branches, list):
            continue
        only = [each for each in branches if isinstance(each, Mapping) and each.get("type") != "null"]
        if len(only) == 1:
            beside = {key: value for key, value in schema.items() if key != union}
            kinds = [*_list_kinds(only[0]), *(["null"] if len(branches) > 1 else [])]
            return {**beside, **only[0], **({"type": kinds} if len(kinds) > 1 else {})}
    return schema


def _accepts(schema: JsonObject, value: JsonValue) -> bool:
    return _is_of(value, _list_kinds(schema))


def _is_of(value: JsonValue, kinds: Sequence[str]) -> bool:
    if not kinds:
        return True
    own = name_json_type(value)
    is_whole = isinstance(value, int | float) and not isinstance(value, bool) and float(value).is_integer()
    return own in kinds or (own == "number" and is_whole and "integer" in kinds)


def _name_kind(value: JsonValue) -> str:
    kind = name_json_type(value)
    return "a text" if kind == "string" else f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def _get_properties(schema: JsonObject) -> JsonObject:
    return _get_object(schema, "properties")


def _get_object(schema: JsonObject, key: str) -> JsonObject:
    value = schema.get(key)
    return value if isinstance(value, Mapping) else {}


def _make_sample(schema: JsonValue) -> JsonValue:
    if not isinstance(schema, Mapping):
        return "…"
    allowed = schema.get("enum")
    if isinstance(allowed, list) and allowed:
        return allowed[0]  # type: ignore[no-any-return]
    kind = next(iter(_list_kinds(schema)), "string")
    samples: dict[str, JsonValue] = {"integer": 1, "number": 1, "boolean": True}
    if kind == "object":
        inner, listed = _get_properties(schema), schema.get("required")
        return {
            str(name): _make_sample(inner.get(str(name)))
            for name in (listed if isinstance(listed, list) else ())
        }
    if kind == "array":
        items = schema.get("items")
        return [_make_sample(items)] if isinstance(items, Mapping) else []
    return samples.get(kind, "…")


def _is_short(value: JsonValue) -> bool:
    return isinstance(value, bool | int | float) or (isinstance(value, str) and 0 < len(value) <= 200)
