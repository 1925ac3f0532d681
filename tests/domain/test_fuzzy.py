import pytest

from quorum.domain.text.fuzzy import fit


def best(query: str, *texts: str) -> str:
    found = {text: fitting.score for text in texts if (fitting := fit(query, text)) is not None}
    return max(found, key=lambda text: found[text])


@pytest.mark.parametrize(
    ("query", "better", "worse"),
    [
        ("app", "src/app.py", "apps/zebra/main.py"),  # a name rather than a folder
        ("main", "src/main.py", "src/domain.py"),  # the beginning of a word
        ("test", "test.py", "test_everything_else.py"),  # the whole name
        ("conf", "a/config.py", "a/c_o_n_f.py"),  # one piece rather than crumbs
        ("pb", "prompt_box.py", "superb.py"),  # beginnings of words
        ("fb", "FooBar.java", "fxxbxx.java"),  # humps
        ("readme", "README.md", "docs/guides/more/readme_of_the_readme.md"),  # the shorter one
        ("README", "README.md", "readme.md"),  # the same case
    ],
)
def test_the_more_likely_one_fits_better(query, better, worse):
    assert best(query, worse, better) == better
    assert best(query, better, worse) == better


def test_letters_that_are_not_all_there_in_this_order_do_not_fit():
    assert fit("ba", "ab") is None
    assert fit("aa", "a") is None


def test_the_places_that_were_hit_are_reported():
    found = fit("mnu", "src/menu.py")

    assert found is not None
    assert [("src/menu.py")[place] for place in found.hits] == ["m", "n", "u"]


def test_a_letter_that_grows_when_it_is_lowered_shifts_no_hit():
    found = fit("x", "İİx")

    assert found is not None
    assert found.hits == (2,)


def test_nothing_typed_fits_everything():
    assert fit("", "anything") is not None
