import os
import random

import pytest

from quorum.domain.text.fuzzy import fit
from quorum.infrastructure.file_finder import FileIndex

PATHS = [
    "README.md",
    "src/",
    "src/app.py",
    "src/core/",
    "src/core/engine.py",
    "tests/test_app.py",
    "docs/日本.md",
]


def found(query: str, *paths: str, limit: int = 10, bonus: dict[str, int] | None = None) -> list[str]:
    return [file.path for file in FileIndex(paths or PATHS).find(query, limit, bonus or {})]


def test_names_come_before_folders_and_folders_are_found_too():
    assert found("app") == ["src/app.py", "tests/test_app.py"]
    assert found("core")[0] == "src/core/"


def test_letters_in_order_are_enough():
    assert found("eng") == ["src/core/engine.py"]
    assert found("sceng") == ["src/core/engine.py"]
    assert found("zz") == []


def test_a_folder_typed_with_its_slash_shows_what_is_in_it():
    assert set(found("src/")) == {"src/", "src/app.py", "src/core/", "src/core/engine.py"}
    assert found("./src/core/e") == ["src/core/engine.py"]


def test_names_of_any_kind_are_found_and_come_back_as_they_are():
    strange = ["-rf", "two\nlines.txt", os.fsdecode(b"caf\xe9.txt"), "a b.txt", "日本語/説明.md", "İ.txt"]

    assert found("rf", *strange) == ["-rf"]
    assert found("lines", *strange) == ["two\nlines.txt"]
    assert found("caf", *strange) == [os.fsdecode(b"caf\xe9.txt")]
    assert found("説明", *strange) == ["日本語/説明.md"]
    assert found("a b", *strange) == ["a b.txt"]


def test_what_is_likely_to_be_meant_comes_first():
    paths = ["a/util.py", "b/util.py"]

    assert found("util", *paths, bonus={"b/util.py": 14}) == ["b/util.py", "a/util.py"]
    assert found("", *paths, bonus={"b/util.py": 14}) == ["b/util.py", "a/util.py"]
    assert FileIndex(paths, fresh=["b/util.py"]).find("util", 9, {})[0].path == "b/util.py"


def test_what_the_bonus_names_and_does_not_fit_is_not_offered():
    assert found("util", "a/util.py", bonus={"gone.py": 14}) == ["a/util.py"]


@pytest.mark.parametrize("query", ["test", "sr", "srctest", "e", "index.p", "tsx"])
def test_among_very_many_the_best_of_all_is_among_those_that_are_offered(query):
    chance = random.Random(3)
    words = ["src", "test", "index", "core", "server", "main", "tester", "resource", "tsx"]
    paths = sorted(
        {"/".join(chance.choice(words) for _ in range(chance.randint(1, 4))) + ".py" for _ in range(5_000)},
        key=len,
    )
    scores = {path: fits.score for path in paths if (fits := fit(query, path)) is not None}

    offered = found(query, *paths, limit=50)

    assert scores[offered[0]] == max(scores.values())


def test_a_query_of_any_length_is_answered():
    assert found("a" * 10_000) == []
