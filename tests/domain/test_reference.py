import pytest

from quorum.domain.text.mention import MOST_IN_RANGE, find_references, find_repository


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("fix #12", ["#12"]),
        ("#12", ["#12"]),
        ("see (#12), #13. And #14!", ["#12", "#13", "#14"]),
        ("like pallets/click#2811 does", ["pallets/click#2811"]),
        ("https://github.com/a/b.c/issues/7#issuecomment-1", ["a/b.c#7"]),
        (
            "https://github.com/a/b/pull/8/files and https://ghe.example.com/a/b/pull/9",
            ["a/b#8", "ghe.example.com/a/b#9"],
        ),
        ("the colour #336699 or #336699ff", []),
        ("a#12 and &#39; and #12px and #1-2x and ##3", []),
        ("`#12` and\n```\n#13\n```", []),
        ("# 12 and #", []),
        ("http://github.com/a/b/issues/7", []),
        ("https://github.com/a/b/issues/new", []),
    ],
)
def test_what_a_prompt_refers_to(text: str, labels: list[str]) -> None:
    assert [each.label for each in find_references(text)] == labels


@pytest.mark.parametrize(
    ("url", "repository"),
    [
        ("https://github.com/pallets/click.git", "pallets/click"),
        ("https://github.com/pallets/click", "pallets/click"),
        ("https://token@github.com/pallets/click.git", "pallets/click"),
        ("git@github.com:pallets/click.git", "pallets/click"),
        ("ssh://git@github.com/pallets/click", "pallets/click"),
        ("https://gitlab.com/pallets/click.git", ""),
        ("https://github.com.evil.example/pallets/click.git", ""),
        ("https://github.com/pallets/click --upload-pack=x", ""),
        ("/srv/git/click.git", ""),
    ],
)
def test_the_repository_is_that_of_origin_on_github(url: str, repository: str) -> None:
    fork = '[remote "fork"]\n\turl = git@github.com:x/y\n'
    config = f'[core]\n\tbare = false\n{fork}[remote "origin"]\n\turl = {url}\n'
    assert find_repository(config) == repository


def test_without_origin_there_is_no_repository() -> None:
    assert find_repository('[remote "upstream"]\n\turl = https://github.com/a/b\n') == ""


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("fix #21-23", ["#21", "#22", "#23"]),
        ("fix #23-21", ["#21", "#22", "#23"]),
        ("fix #119-21", ["#119", "#120", "#121"]),
        ("#21–#23, #4", ["#21", "#22", "#23", "#4"]),
        ("a/b#1..3", ["a/b#1", "a/b#2", "a/b#3"]),
        ("#7...8", ["#7", "#8"]),
        ("#5-5", ["#5"]),
        ("#2024-01 and #2024-12", []),
        ("#12-rc and #1-2-3", []),
        ("`#1-3`", []),
    ],
)
def test_a_range_refers_to_each_of_its_numbers(text: str, labels: list[str]) -> None:
    assert [each.label for each in find_references(text)] == labels


def test_a_long_range_is_bounded() -> None:
    assert len(list(find_references("#1-999999999"))) == MOST_IN_RANGE
