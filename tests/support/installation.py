"""Installs distributions into virtual environments of their own, without a package index."""

from __future__ import annotations

import fcntl
import site
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parents[2]


def build_wheel_once(folder: Path) -> Path:
    """Build quorum's wheel into `folder`, unless another process has done so."""
    with (folder / "wheel.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not list(folder.glob("*.whl")):
            _build_wheel(folder)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _build_wheel(folder: Path) -> None:
    _pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT))


def make_wheel(folder: Path, name: str, **modules: str) -> Path:
    """Write the wheel of another distribution, with one package for each of these modules."""
    files = {f"{module}/__init__.py": source for module, source in modules.items()}
    info = f"{name}-1.0.dist-info"
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = "".join(f"{path},,\n" for path in (*files, f"{info}/RECORD"))
    wheel = folder / f"{name}-1.0-py3-none-any.whl"
    with ZipFile(wheel, "w") as archive:
        for path, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(path, text)
    return wheel


class Installation:
    """A virtual environment that shares the dependencies, but not quorum, with the one that runs the tests."""

    def __init__(self, folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        self.python = folder / "bin" / "python"
        self.quorum = folder / "bin" / "quorum"
        (self.packages,) = folder.glob("lib/python*/site-packages")
        # Python does not read .pth files in a folder that a .pth file adds: the editable install stays unseen.
        (self.packages / "dependencies.pth").write_text("\n".join(site.getsitepackages()))

    def install(self, wheel: Path) -> None:
        """Install a wheel without its dependencies."""
        _pip("--python", str(self.python), "install", "--no-deps", "--no-index", str(wheel))

    def uninstall(self, name: str) -> None:
        """Uninstall a distribution."""
        _pip("--python", str(self.python), "uninstall", "--yes", name)


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
