from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.review.permission_rules import matches_path

_ROOTS = ("/w", "/other/root")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.setenv("HOME", str(tmp_path / "link"))
    return tmp_path / "real"


@pytest.mark.parametrize(
    ("pattern", "name"),
    [("~/.ssh/**", ".ssh/id"), ("~/*.md", "a.md"), ("~/**", "a/b"), ("~/a/?.txt", "a/b.txt")],
)
def test_a_pattern_in_the_home_folder_fits_where_that_folder_leads(home: Path, pattern: str, name: str) -> None:
    for strict in (True, False):
        assert matches_path(pattern, str(home / name), _ROOTS, strict=strict)
        assert not matches_path(pattern, f"/w/{name}", _ROOTS, strict=strict)
        assert not matches_path(pattern, f"{home}2/{name}", _ROOTS, strict=strict)


def test_a_pattern_that_forbids_in_the_home_folder_covers_folders_and_other_cases(home: Path) -> None:
    assert matches_path("~/.ssh/**", str(home / ".ssh"), _ROOTS, strict=False)
    assert matches_path("~/.ssh", str(home / ".SSH/id"), _ROOTS, strict=False)
    assert matches_path("~", str(home / "a"), _ROOTS, strict=False)
    assert matches_path("~/**", str(home), _ROOTS, strict=False)
    assert not matches_path("~/.ssh", str(home / ".SSH"), _ROOTS, strict=True)
    assert not matches_path("~", str(home / "a"), _ROOTS, strict=True)


def test_without_a_known_home_folder_only_what_forbids_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorum.domain.review.permission_rules.expanduser", lambda path: path)

    assert matches_path("~/.ssh/**", "/somewhere/.ssh/id", _ROOTS, strict=False)
    assert not matches_path("~/.ssh/**", "/somewhere/.ssh/id", _ROOTS, strict=True)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("src/**", "/w/src/a.py"),
        ("src/**", "/w/src/deep/er/a.py"),
        ("src/*.py", "/w/src/a.py"),
        ("./src/*.py", "/w/src/a.py"),
        ("**/*.md", "/w/a.md"),
        ("**/*.md", "/w/docs/a.md"),
        ("a?.txt", "/w/ab.txt"),
        ("**", "/w/anything/at/all"),
        ("a [1].txt", "/w/a [1].txt"),
        ("/other/root/src/**", "/other/root/src/a"),
        ("/etc/hosts", "/etc/hosts"),
        ("/tmp/**", "/tmp/x/y"),
    ],
)
def test_a_pattern_that_allows_fits_exactly_what_it_says(pattern: str, path: str) -> None:
    assert matches_path(pattern, path, _ROOTS, strict=True)
    assert matches_path(pattern, path, _ROOTS, strict=False)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("src/*", "/w/src/deep/a.py"),
        ("src", "/w/src/a.py"),
        ("src/**", "/w/srcs/a.py"),
        ("src/**", "/w/src"),
        ("*.py", "/w/deep/a.py"),
        ("src/**", "/elsewhere/src/a.py"),
        ("src/**", "/other/root/src/a"),
        ("SRC/**", "/w/src/a.py"),
        ("etc/hosts", "/etc/hosts"),
        ("src/**", "state:plan"),
        ("a*", "/w/a/b"),
        ("a.py", "/w/aXpy"),
    ],
)
def test_a_pattern_that_allows_fits_nothing_else(pattern: str, path: str) -> None:
    assert not matches_path(pattern, path, _ROOTS, strict=True)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("secrets", "/w/secrets"),
        ("secrets", "/w/secrets/deep/key"),
        ("secrets/", "/w/secrets/deep/key"),
        ("secrets", "/w/inner/secrets/key"),
        ("secrets", "/elsewhere/secrets"),
        ("SECRETS", "/w/secrets/key"),
        ("config/*.ini", "/w/Config/A.INI"),
        ("/etc", "/etc/passwd"),
        ("secrets/**", "/w/secrets"),
        ("/etc/ssl/**", "/etc/ssl"),
    ],
)
def test_a_pattern_that_forbids_reaches_further(pattern: str, path: str) -> None:
    assert matches_path(pattern, path, _ROOTS, strict=False)


@given(
    pattern=st.text("ab*?/.", min_size=1, max_size=8),
    path=st.text("ab/.", min_size=1, max_size=10).map(lambda text: f"/w/{text.strip('/')}"),
)
def test_what_an_allowing_pattern_fits_a_forbidding_one_of_the_same_text_fits_too(
    pattern: str, path: str
) -> None:
    if matches_path(pattern, path, _ROOTS, strict=True):
        assert matches_path(pattern, path, _ROOTS, strict=False)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 40 + "b", "/w/" + "a" * 250),
        ("**/a/" * 20 + "b", "/w/" + "a/" * 1500 + "c"),
        ("**/*a*a*a*/" * 10 + "b", "/w/" + "aaaa/" * 800 + "c"),
    ],
)
def test_a_folder_that_brings_a_rule_and_a_name_for_it_keeps_nobody_waiting(
    pattern: str, path: str, strict: bool
) -> None:
    assert not matches_path(pattern, path, ("/w",), strict=strict)


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("a*b*c", "abbbcc", True),
        ("*ab*ab", "abab", True),
        ("*ab*ab", "ab", False),
        ("**/a/**/b", "a/a/x/b", True),
        ("**/a/b/**/a/c", "a/b/a/b/x/a/c", True),
        ("x/**/*a*/**/y", "x/bab/y", True),
        ("x/**/*a*/**/y", "x/bb/y", False),
        ("**/**/a", "b/a", True),
    ],
)
def test_several_wildcards_find_what_they_can(pattern: str, name: str, fits: bool) -> None:
    assert matches_path(pattern, f"/w/{name}", ("/w",), strict=True) is fits
