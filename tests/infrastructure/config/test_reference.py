import re
import stat
import tomllib
import typing
from pathlib import Path

import msgspec
import pytest

from quorum.domain.errors import ConfigError
from quorum.infrastructure.config.loading import list_setting_values
from quorum.infrastructure.config.report import render_reference, write_reference
from quorum.infrastructure.config.schema import Settings
from tests.support.settings_machine import Machine

_ROOT_FILE = Path(__file__).parents[3] / "quorum.toml"
_RENDER = "from quorum.infrastructure.config.report import render_reference as r; print(r(), end='')"


def _uncommented(text: str) -> str:
    return re.sub(r"^# ", "", text, flags=re.MULTILINE)


def test_the_file_at_the_root_is_the_rendered_reference():
    text = _ROOT_FILE.read_text(encoding="utf-8")

    assert text == render_reference(), f"render it anew: python -c {_RENDER!r} > quorum.toml"


def test_the_reference_sets_nothing(machine: Machine):
    machine.user(render_reference())

    loaded = machine.load()

    assert loaded.settings == Settings()
    assert set(loaded.origins.values()) == {"default"}


def test_uncommented_the_reference_is_all_the_defaults():
    data = tomllib.loads(_uncommented(_ROOT_FILE.read_text(encoding="utf-8")))

    assert msgspec.convert(data, Settings, strict=True) == Settings()


def test_uncommented_the_reference_names_every_setting(machine: Machine):
    machine.user(_uncommented(render_reference()))

    loaded = machine.load()

    assert loaded.settings == Settings()
    assert set(loaded.origins.values()) == {str(machine.user_file)}
    assert len(loaded.origins) == len(list(list_setting_values(Settings())))


def test_every_setting_has_an_explanation_above_it():
    first_tables = render_reference().split("[providers.openai]")[0], render_reference().split("[agent]")[1]

    for text in first_tables:
        assert not re.search(r"^(?!##).*\n# \w", text, re.MULTILINE)


def test_the_reference_is_written_for_its_owner_alone(tmp_path: Path):
    path = write_reference(tmp_path / "new/quorum/quorum.toml")

    assert path.read_text(encoding="utf-8") == render_reference()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_existing_file_is_never_overwritten(machine: Machine):
    machine.user("agent.max_tool_turns = 4")

    with pytest.raises(ConfigError, match="exists already and is left as it is"):
        write_reference(machine.user_file)

    assert machine.load().settings.agent.max_tool_turns == 4


def test_a_link_to_nowhere_is_not_written_through(tmp_path: Path):
    (tmp_path / "quorum.toml").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(ConfigError, match="exists already"):
        write_reference(tmp_path / "quorum.toml")

    assert not (tmp_path / "elsewhere").exists()


def test_a_place_that_cannot_be_written_is_reported(tmp_path: Path):
    (tmp_path / "file").write_text("")

    with pytest.raises(ConfigError, match=r"file/quorum\.toml cannot be written: "):
        write_reference(tmp_path / "file/quorum.toml")


def test_the_types_of_settings_are_no_texts_that_each_start_would_have_to_work_out():
    waiting, seen = [Settings], set()
    while waiting:
        table = waiting.pop()
        seen.add(table)
        assert not [name for name, kind in table.__annotations__.items() if isinstance(kind, str)], table
        inner = [field.type for field in msgspec.structs.fields(table)]
        while inner:
            kind = inner.pop()
            inner += typing.get_args(kind)
            if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind not in seen:
                waiting.append(kind)

    assert len(seen) > 20
