"""This machine with a managed policy at the place where an administrator puts it, for one process at a time."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from quorum.infrastructure.config.policy_file import POLICY_PLACE
from tests.support.headless_run import QUORUM, environment


class Namespace:
    """This machine with another `/etc/quorum`. Whoever runs the test is root in it, and owns `/` and `/etc`."""

    def __init__(self, folder: Path) -> None:
        self.policy = folder / "requirements.toml"
        self.home, self.work = folder / "home", folder / "work"
        self.home.mkdir()
        self.work.mkdir()

    def run(
        self, *arguments: str, policy: Path | None = None, incoming: str = "", **more: str
    ) -> subprocess.CompletedProcess[str]:
        """Run `quorum` with these words, standard input and variables, to its end."""
        return subprocess.run(
            self.build_command(*arguments, policy=policy),
            env=environment(self.home, **more),
            input=incoming,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def build_command(self, *arguments: str, policy: Path | None = None) -> list[str]:
        """What runs `quorum` with these words."""
        place = str(POLICY_PLACE.file)
        command = ["bwrap", "--unshare-user", "--uid", "0", "--gid", "0", "--die-with-parent"]
        for top in (Path("/"), Path("/etc")):
            command += [word for each in sorted(top.iterdir()) for word in self._show(each)]
        command += ["--dev", "/dev", "--proc", "/proc", "--bind", "/tmp", "/tmp"]
        command += ["--dir", os.path.dirname(place), "--ro-bind", str(policy or self.policy), place]
        return [*command, "--chdir", str(self.work), QUORUM, *arguments]

    @staticmethod
    def _show(path: Path) -> Iterator[str]:
        if path == Path("/etc"):
            yield from ("--dir", "/etc")
        elif path.is_symlink():
            yield from ("--symlink", os.readlink(path), str(path))
        elif str(path) not in ("/dev", "/proc", "/tmp") and path != POLICY_PLACE.file.parent:
            yield from ("--ro-bind-try", str(path), str(path))


def open_namespace(folder: Path, policy: str) -> Namespace:
    """A namespace with this policy, or the test is skipped where none can be made."""
    if shutil.which("bwrap") is None:
        pytest.skip("bwrap is not installed, which makes a mount namespace")
    tried = subprocess.run(
        ["bwrap", "--unshare-user", "--uid", "0", "--ro-bind", "/", "/", "true"],
        capture_output=True,
        timeout=30,
        check=False,
    )
    if tried.returncode:
        pytest.skip(f"bwrap cannot make a namespace here: {tried.stderr.decode().strip()}")
    made = Namespace(folder)
    made.policy.write_text(policy)
    made.policy.chmod(0o644)
    return made
