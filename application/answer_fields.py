"""The fields of an answer as a struct: what they may be and what is said of them stands on the struct alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Generic, TypeAlias, TypeVar

from msgspec import Meta, Struct, field

from quorum.application.structured_answer import Unreadable
from quorum.domain.struct_json import Unfit, decode_struct
from quorum.domain.text.json_value import JsonObject, JsonValue

if TYPE_CHECKING:
    from msgspec.inspect import Field, Type

_S = TypeVar("_S", bound=Struct)
_Entry = TypeVar("_Entry")

NOT_EMPTY = r"\S"
Confidence: TypeAlias = Annotated[float, Meta(ge=0, le=1, description="How sure you are, from 0 to 1.")]


class OptionalText(str):
    """A text that may be left out. What is no text counts as left out."""

    __slots__ = ()

    @classmethod
    def from_json(cls, value: JsonValue) -> OptionalText:
        return cls(value) if isinstance(value, str) else cls()


class AnswerLabel(str):
    """A label in a list of them, or the text of what stands in its place."""

    __slots__ = ()

    @classmethod
    def from_json(cls, value: JsonValue) -> AnswerLabel:
        return cls(value)


class Fields(Struct, Generic[_S], frozen=True):
    """The fields of an answer, or of an entry of it.

    By the name of a field, where only the question tells: `words` that it can be, and what it `must` be, as the
    model is told of one that cannot be read. A field with the default None is asked for, and may be missing.
    """

    kind: type[_S]
    words: Mapping[str, Sequence[str]] = field(default_factory=dict)
    must: Mapping[str, str] = field(default_factory=dict)

    def build_schema(self) -> dict[str, JsonValue]:
        """The JSON schema of an object with these fields."""
        return self._build_object(self.kind)

    def read(self, given: JsonObject) -> _S:
        """What a model gave for them. Raises Unreadable."""
        try:
            return decode_struct(self.kind, given)
        except Unfit as problem:
            raise Unreadable(self._describe(problem)) from None

    def refuse(self, name: str) -> Unreadable:
        """The error about a field that is none of its words, or is so once too often."""
        return Unreadable(f'"{name}" must {self.must[name]}')

    def index(self, name: str, entries: Iterable[tuple[str, _Entry]]) -> dict[str, _Entry]:
        """Entries by the word that each has in this field: one of its words, and no other entry's. Raises
        Unreadable."""
        found: dict[str, _Entry] = {}
        for word, entry in entries:
            if word not in self.words[name] or word in found:
                raise self.refuse(name)
            found[word] = entry
        return found

    def _build_object(self, kind: type[Struct]) -> dict[str, JsonValue]:
        fields = _list_fields(kind)
        return {
            "type": "object",
            "properties": {each.name: self._build_field(each) for each in fields},
            "required": [each.name for each in fields if each.required or each.default is None],
        }

    def _build_field(self, asked: Field) -> JsonObject:
        from msgspec import inspect

        kind, description = _split(asked.type)
        words = self.words.get(asked.name)
        word: JsonObject = {"type": "string", "enum": list(words)} if words else {}
        if word and isinstance(kind, inspect.VarTupleType):
            return {"type": "array", "items": word, **description}
        return {**(word or self._build_type(kind)), **description}

    def _build_type(self, kind: Type) -> JsonObject:
        from msgspec import inspect

        match kind:
            case inspect.EnumType():
                return {"type": "string", "enum": [each.value for each in kind.cls]}
            case inspect.IntType():
                bounds = {"minimum": kind.ge, "maximum": kind.le}
                return {
                    "type": "integer",
                    **{name: bound for name, bound in bounds.items() if bound is not None},
                }
            case inspect.FloatType():
                return {"type": "number"}
            case inspect.VarTupleType(item_type=inspect.StructType() as inner):
                return {"type": "array", "items": self._build_object(inner.cls)}
            case inspect.VarTupleType():
                return {"type": "array", "items": self._build_type(_split(kind.item_type)[0])}
            case _:
                return {"type": "string"}

    def _describe(self, problem: Unfit) -> str:
        """What the innermost field on the way to the problem must be."""
        from msgspec import inspect

        name, kind, is_entry = "", inspect.type_info(self.kind), False
        for step in problem.path:
            inner = kind.item_type if isinstance(kind, inspect.VarTupleType) else kind
            known = {each.name: each.type for each in getattr(inner, "fields", ())}
            is_entry = step not in known
            if not is_entry:
                name, (kind, _) = step, _split(known[step])
            elif not known:
                kind, _ = _split(inner)
        if name in self.must and not is_entry:
            return str(self.refuse(name))
        match kind:
            case inspect.EnumType():
                *others, last = (str(each.value) for each in kind.cls)
                return f'"{name}" must be {", ".join(others)} or {last}'
            case inspect.IntType():
                to = "" if kind.le is None else f" to {kind.le}"
                return f'"{name}" must be a whole number from {kind.ge}{to}'
            case inspect.FloatType():
                return f'"{name}" must be a number from {kind.ge:g} to {kind.le:g}'
            case inspect.VarTupleType() if "of length" in problem.problem:
                return f'"{name}" must have {kind.max_length} entries at most'
            case inspect.VarTupleType():
                return f'"{name}" must be a list{" of objects" if is_entry else ""}'
            case inspect.StrType():
                return f'"{name}" must be a text that is not empty'
            case _:
                return str(problem)


def _list_fields(kind: type[Struct]) -> tuple[Field, ...]:
    from msgspec import inspect

    found = inspect.type_info(kind)
    return found.fields if isinstance(found, inspect.StructType) else ()


def _split(kind: Type) -> tuple[Type, JsonObject]:
    """A type without what is said of it, and its description."""
    from msgspec import inspect

    return (kind.type, kind.extra_json_schema or {}) if isinstance(kind, inspect.Metadata) else (kind, {})
