import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.review.path_pattern import matches_path

_ROOTS = ("/w", "/other/root")


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
