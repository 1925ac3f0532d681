"""The key that a program is given, which asks a model in the place of quorum."""

from __future__ import annotations

import pytest

from quorum.domain.errors import ProviderError
from quorum.infrastructure.models.shared.program_environment import read_program_key


def read(environ: dict[str, str], key_env: str | None = "KEY") -> str:
    return read_program_key("claude", key_env, environ, remedy="set it")


def test_a_key_is_that_of_its_variable_and_none_where_none_is_named() -> None:
    assert read({"KEY": " sk-1\n"}) == "sk-1"
    assert read({"KEY": "sk-1"}, key_env=None) == ""


@pytest.mark.parametrize(
    ("environ", "said"),
    [({}, "KEY is not set; set it"), ({"KEY": " "}, "KEY is not set"), ({"KEY": "sk-“1”"}, "no key has")],
)
def test_what_can_be_no_key_is_refused_before_the_program_starts(environ: dict[str, str], said: str) -> None:
    with pytest.raises(ProviderError, match=said):
        read(environ)
