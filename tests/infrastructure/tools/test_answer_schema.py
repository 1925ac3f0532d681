"""The schema that the final answer of a run has to fit: read with the place of what is wrong, and checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.domain.errors import ConfigError
from quorum.infrastructure.tools.answer_schema import AnswerSchema, parse_answer

TEXT = (
    '{"type": "object", "required": ["version"], '
    '"properties": {"version": {"type": "string", "pattern": "^v"}}}'
)


@pytest.mark.parametrize("given", [TEXT, "release.json"])
def test_a_schema_is_given_as_text_or_as_a_file_of_the_folder(tmp_path: Path, given: str) -> None:
    (tmp_path / "release.json").write_text(TEXT)
    schema = AnswerSchema.read(given, tmp_path)

    assert schema.find_problem('{"version": "v1"}') == ""
    assert '"pattern": "^v"' in schema.instruction


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("none.json", "none.json cannot be read: No such file"),
        ('{"type": ', "the schema of --json-schema is no JSON: line 1, column 10"),
        ('{"type": "text"}', "the schema of --json-schema is no JSON schema: $.type: 'text' is not"),
        ("bad.json", "bad.json is no JSON: line 2, column 10"),
        ("list.json", "list.json is no JSON schema: it is no object"),
        ("bytes.json", "bytes.json is no text in UTF-8"),
        ('{"a":' * 100_000, "the schema of --json-schema is n"),
        ("", "--json-schema is empty"),
        ('{"$ref": "#/$defs/none"}', "the schema of --json-schema refers to #/$defs/none, which is not in it"),
        ('{"items": {"$ref": "http://127.0.0.1:1/x"}}', "refers to http://127.0.0.1:1/x, which is not in it"),
        ('{"maximum": ' + "9" * 5_000 + "}", "the schema of --json-schema is no JSON: Exceeds the limit"),
        ('{"maximum": NaN}', "the schema of --json-schema is no JSON: NaN is no value of JSON"),
        ('{"$schema": "https://a.example/own"}', "names no known draft of JSON Schema: $.$schema: 'https://a."),
        ('{"$schema": 3}', "names no known draft of JSON Schema: $.$schema: 3"),
    ],
)
def test_what_is_no_schema_is_refused_with_its_place(tmp_path: Path, given: str, problem: str) -> None:
    (tmp_path / "bad.json").write_text('{\n  "type" "object"}')
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")

    with pytest.raises(ConfigError) as refused:
        AnswerSchema.read(given, tmp_path)

    assert problem in str(refused.value)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ('{"version": "1"}', "$.version: '1' does not match '^v'"),
        ("{}", "$: 'version' is a required property"),
        ("the version is v1", "no JSON: line 1, column 1"),
        ('{"version": NaN}', "no JSON: NaN is no value of JSON"),
        ("", "no JSON"),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_an_answer_that_does_not_fit_is_told_with_its_place(tmp_path: Path, answer: str, problem: str) -> None:
    assert problem in AnswerSchema.read(TEXT, tmp_path).find_problem(answer)


def test_a_fence_around_the_value_is_taken_off() -> None:
    assert parse_answer('```json\n{"version": "v1"}\n```\n') == {"version": "v1"}


def test_a_schema_may_refer_to_its_own_parts(tmp_path: Path) -> None:
    part = '{"$anchor": "here", "properties": {"$ref": {"$ref": "#here"}}}'
    text = f'{{"$ref": "#/$defs/part", "$defs": {{"part": {part}}}, "examples": [{{"$ref": "#/none"}}]}}'

    assert AnswerSchema.read(text, tmp_path).find_problem('{"$ref": {}}') == ""


def test_a_schema_means_what_the_draft_that_it_names_says(tmp_path: Path) -> None:
    text = '{"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}, %s]}'

    assert AnswerSchema.read(text % "false", tmp_path).find_problem('["a", 1]') != ""
    assert AnswerSchema.read(text % "true", tmp_path).find_problem('["a", 1]') == ""
