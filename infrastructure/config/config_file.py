"""A configuration file that is changed for the person: one key at a time, whole or not at all."""

from __future__ import annotations

import codecs
import difflib
import os
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from quorum.domain.errors import ConfigError
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.config.paths import is_present
from quorum.infrastructure.config.toml_edit import remove_toml_table, remove_toml_value, set_toml_value
from quorum.infrastructure.config.toml_file import TomlFile, escape_path
from quorum.infrastructure.config.toml_text import KeyPath

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class ConfigFileEdit(Struct, frozen=True):
    """The text of a file before and after a change, and the settings from then on."""

    before: str
    after: str
    loaded: LoadedSettings

    @property
    def changed_lines(self) -> tuple[str, ...]:
        """The lines that went, after `-`, and those that came, after `+`, as they are in the file."""
        compared = difflib.unified_diff(self.before.splitlines(), self.after.splitlines(), lineterm="", n=0)
        lines = list(compared)[2:]  # the first two name the files
        return tuple(line for line in lines if not line.startswith("@@"))


class _PreparedEdit(Struct, frozen=True):
    """The bytes of a file, None where there is none, those that take their place, and the same as text."""

    before: bytes | None
    after: bytes
    edit: ConfigFileEdit


class ConfigFile(Struct, frozen=True):
    """One file of settings, there or not. `load` answers the settings as if that text were in the file; it
    raises ConfigError for what the loader refuses, and then nothing is written. `follows_links`: a link in its
    place is the person's own, and the file it leads to is changed; else it is somebody else's, and refused."""

    path: Path
    load: Callable[[TomlFile], LoadedSettings]
    follows_links: bool = True

    def set(self, key: KeyPath, value: object) -> LoadedSettings:
        """Give one key this value; the settings from now on. Blocks. Raises ConfigError, and then nothing is
        changed."""
        return self._change(lambda text: set_toml_value(text, key, value)).loaded

    def unset(self, key: KeyPath) -> LoadedSettings:
        """Take one key out. Answers and raises as `set` does."""
        if not is_present(self.path):
            raise ConfigError(f"{escape_path(self.path)} does not exist, and so sets nothing")
        return self._change(lambda text: remove_toml_value(text, key)).loaded

    def preview(self, values: Mapping[KeyPath, object]) -> ConfigFileEdit:
        """What `set_all` would change; nothing is written. Blocks. Raises ConfigError as it does."""
        return self._prepare(_build_setter(values)).edit

    def set_all(self, values: Mapping[KeyPath, object], *, seen: ConfigFileEdit) -> ConfigFileEdit:
        """Give several keys their values, all or none, if that changes what was `seen`. Raises as `set`."""
        prepared = self._prepare(_build_setter(values))
        if (prepared.edit.before, prepared.edit.after) != (seen.before, seen.after):
            raise ConfigError(f"{escape_path(self.path)} was changed meanwhile and is left as it is; try again")
        return self._write(prepared)

    def holds_table(self, table: KeyPath) -> bool:
        """Whether the file has a table of this name, whatever becomes of it. Blocks. Raises ConfigError."""
        inside: object = TomlFile.parse(self.path, _read_content(self.path) or b"").data
        for name in table:
            inside = inside.get(name) if isinstance(inside, Mapping) else None
        return isinstance(inside, Mapping)

    def remove_table(self, table: KeyPath) -> ConfigFileEdit:
        """Take a table out with all that is in it. Raises as `set` does."""
        return self._change(lambda text: remove_toml_table(text, table))

    def _change(self, edit: Callable[[str], str]) -> ConfigFileEdit:
        return self._write(self._prepare(edit))

    def _prepare(self, edit: Callable[[str], str]) -> _PreparedEdit:
        if not self.follows_links and self.path.is_symlink():
            raise ConfigError(
                f"{escape_path(self.path)} is a link, so that another file would be changed; "
                "change that one itself, or put a file in the link's place"
            )
        before = _read_content(self.path)
        present = TomlFile.parse(self.path, before or b"")
        mark = codecs.BOM_UTF8 if (before or b"").startswith(codecs.BOM_UTF8) else b""
        try:
            after = mark + edit(present.text).encode()
        except ConfigError as error:
            raise ConfigError(f"{escape_path(self.path)}: {error}") from error
        except UnicodeEncodeError as error:
            raise ConfigError("the value is not valid Unicode and cannot be written") from error
        loaded = self.load(TomlFile.parse(self.path, after))
        change = ConfigFileEdit(present.text, after.removeprefix(mark).decode(), loaded)
        return _PreparedEdit(before, after, change)

    def _write(self, prepared: _PreparedEdit) -> ConfigFileEdit:
        target = Path(os.path.realpath(self.path)) if self.follows_links else self.path
        if prepared.after != prepared.before:
            try:
                _replace(self.path, target, prepared.before, prepared.after)
            except OSError as error:
                raise ConfigError(
                    f"{escape_path(self.path)} cannot be written ({error.strerror}); it is as it was"
                ) from error
        return prepared.edit


def _build_setter(values: Mapping[KeyPath, object]) -> Callable[[str], str]:
    def edit(text: str) -> str:
        for key, value in values.items():
            text = set_toml_value(text, key, value)
        return text

    return edit


def _read_content(path: Path) -> bytes | None:
    """What the file holds; None where there is none."""
    if not is_present(path):
        return None
    TomlFile.read(path)  # says what is wrong with it, if anything is
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{escape_path(path)} cannot be read: {error.strerror}") from error


def _replace(path: Path, target: Path, before: bytes | None, after: bytes) -> None:
    """Put a content in the place of what was read, so that there is always the old one or the new one, whole.

    `target` is where that file lies: a link to it stays a link, and the mode stays. Raises ConfigError where
    the file is another by now.
    """
    if before is None:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    descriptor = os.open(temporary, _NEW, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(after)
            file.flush()
            if before is not None:
                status = target.stat()
                with suppress(PermissionError):  # a group that is not the person's own cannot be given
                    os.fchown(file.fileno(), -1, status.st_gid)
                os.fchmod(file.fileno(), status.st_mode & 0o777)
            os.fsync(file.fileno())
        if _read_content(path) != before:
            raise ConfigError(f"{escape_path(path)} was changed meanwhile and is left as it is; try again")
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
