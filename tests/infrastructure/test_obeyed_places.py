"""What an agent in the sandbox makes in places that it obeys outside of it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from quorum.infrastructure.agents.channel import ObeyedPlaces, SetAsidePlace
from quorum.infrastructure.agents.launch import KNOWN_AGENTS, find_launch
from quorum.infrastructure.config.schema import Settings


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


def test_what_a_link_of_a_link_leads_to_is_obeyed_as_well(tmp_path: Path) -> None:
    settings, current, target = (tmp_path / name for name in ("settings.json", "current", "target"))
    settings.symlink_to("current")
    current.symlink_to("target")
    places = ObeyedPlaces([str(settings)])
    current.unlink()
    current.symlink_to("mine")
    target.write_text("made")

    outcomes = {made.path: made.outcome for made in places.set_aside()}

    assert outcomes == {
        str(current): "renamed to set-aside-current~1",
        str(target): "renamed to set-aside-target~1",
    }
    assert current.readlink() == Path("target")


def test_programs_in_the_folder_of_an_agent_are_obeyed_by_any_name(tmp_path: Path) -> None:
    folder, programs = tmp_path / ".claude", tmp_path / "programs"
    programs.mkdir()
    (folder / "projects").mkdir(parents=True)
    for program in (programs / "claude-agent-acp", folder / "notify"):
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    for name in ("status.sh", "history.jsonl"):
        (folder / name).write_text("")
    environ = {"HOME": str(tmp_path), "PATH": str(programs)}

    obeyed = set(find_launch("claude", Settings(), environ).obeyed)

    assert {str(folder / name) for name in ("notify", "status.sh", "settings.json", "scripts")} <= obeyed
    assert str(folder / "history.jsonl") not in obeyed
    assert str(folder / "projects") not in obeyed


def test_what_an_agent_of_the_persons_own_obeys_is_named_in_the_settings(tmp_path: Path) -> None:
    table = {"command": ["/bin/true"], "sandbox": True, "obeys": ["~/.mine/config.toml", "/etc/mine/../mine.d"]}
    settings = msgspec.convert({"agents": {"mine": table, "vibe": table}}, Settings)
    environ = {"HOME": str(tmp_path)}

    assert find_launch("mine", settings, environ).obeyed == (f"{tmp_path}/.mine/config.toml", "/etc/mine.d")
    assert {"/etc/mine.d", f"{tmp_path}/.vibe/config.toml"} <= {*find_launch("vibe", settings, environ).obeyed}


@pytest.mark.parametrize("path", ["config.toml", "", "~", "~root/x", "/", "../x"])
def test_what_an_agent_obeys_has_a_path_that_is_whole(path: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"agents": {"mine": {"obeys": [path]}}}, Settings)


def test_each_known_agent_names_what_it_obeys() -> None:
    assert all(agent.obeyed for agent in KNOWN_AGENTS.values())
