"""What is so large that an event loop should not go through it."""

from dataclasses import dataclass
from enum import StrEnum

import pytest

from quorum.domain.conversation.response import OpaqueBlock
from quorum.domain.text.large import LARGE_CHARS, is_large


class _Name(StrEnum):
    LONG = "x" * LARGE_CHARS


@dataclass(frozen=True)
class _Event:
    text: str
    parts: tuple[str, ...] = ()


_HALF = "x" * (LARGE_CHARS // 2)


@pytest.mark.parametrize(
    "value",
    [
        "x" * LARGE_CHARS,
        [_HALF, _HALF],
        {_HALF: _HALF},
        _Event(_HALF, (_HALF,)),
        OpaqueBlock(provider=_HALF, payload={"a": _HALF}),
        _Name.LONG,
        range,
    ],
    ids=["text", "list", "mapping", "dataclass", "struct", "enum", "class"],
)
def test_texts_count_wherever_they_stand(value: object) -> None:
    for _ in range(2):  # the second time its class is known
        assert is_large(value) is (value is not range)
        assert is_large(value, "", None, 1, object()) is (value is not range)


def test_values_count_together() -> None:
    assert is_large(_HALF, _Event(_HALF))
    assert not is_large(_HALF, _Event(""))
