"""What an agent in the sandbox makes in places that it obeys outside of it."""

from __future__ import annotations

from pathlib import Path

from quorum.infrastructure.agents.launch import KNOWN_AGENTS
from quorum.infrastructure.agents.obeyed_places import ObeyedPlaces, SetAsidePlace


def test_what_was_not_there_before_is_renamed_and_what_was_is_left(tmp_path: Path) -> None:
    old, new, never = (tmp_path / name for name in ("old.json", ".env", "never"))
    old.write_text("the person's")
    places = ObeyedPlaces([str(old), str(new), str(never)])
    old.write_text("changed by the person")
    new.write_text("first")

    first = list(places.set_aside())
    new.mkdir()
    second = list(places.set_aside())

    assert first == [SetAsidePlace(str(new), "renamed to set-aside-env~1")]
    assert second == [SetAsidePlace(str(new), "renamed to set-aside-env~2")]
    assert list(places.set_aside()) == []
    assert old.read_text() == "changed by the person"
    assert (tmp_path / "set-aside-env~1").read_text() == "first"


def test_a_link_of_the_person_is_put_back_where_it_was_replaced_or_removed(tmp_path: Path) -> None:
    links = [tmp_path / name for name in ("replaced", "removed", "kept")]
    for link in links:
        link.symlink_to("elsewhere")
    places = ObeyedPlaces([str(link) for link in links])
    for link in links[:2]:
        link.unlink()
    links[0].symlink_to("mine")

    outcomes = [made.outcome for made in places.set_aside()]

    assert outcomes == ["renamed to set-aside-replaced~1", "put back"]
    assert [link.readlink() for link in links] == [Path("elsewhere")] * 3


def test_each_known_agent_names_what_it_obeys() -> None:
    assert all(agent.obeyed for agent in KNOWN_AGENTS.values())
