"""Installs distributions into virtual environments of their own, without a package index."""

from __future__ import annotations

import fcntl
import site
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import Distribution, distribution
from pathlib import Path, PurePath
from zipfile import ZipFile

from packaging.requirements import Requirement

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


def needed_without_extras(wheel: Path) -> list[Distribution]:
    """What a wheel needs without any extra, and what that needs itself, as it is installed here."""
    with ZipFile(wheel) as archive:
        metadata = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lines = archive.read(metadata).decode().splitlines()
    found: dict[tuple[str, str], Distribution] = {}
    left = [
        (requirement, "") for line in lines if (requirement := line.removeprefix("Requires-Dist: ")) != line
    ]
    while left:
        text, extra = left.pop()
        requirement = Requirement(text)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        for wanted in ("", *requirement.extras):
            if (requirement.name, wanted) not in found:
                there = found[requirement.name, wanted] = distribution(requirement.name)
                left += [(needed, wanted) for needed in there.requires or ()]
    return list(found.values())


class Installation:
    """A virtual environment that shares the dependencies, but not quorum, with the one that runs the tests.

    With `only`, it shares these distributions and no others.
    """

    def __init__(self, folder: Path, only: Iterable[Distribution] | None = None) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        self.python = folder / "bin" / "python"
        self.quorum = folder / "bin" / "quorum"
        (self.packages,) = folder.glob("lib/python*/site-packages")
        if only is None:
            # Python reads no .pth files in a folder that a .pth file adds: the editable install stays unseen.
            (self.packages / "dependencies.pth").write_text("\n".join(site.getsitepackages()))
        else:
            self._link(only)

    def install(self, wheel: Path) -> None:
        """Install a wheel without its dependencies."""
        _pip("--python", str(self.python), "install", "--no-compile", "--no-deps", "--no-index", str(wheel))

    def _link(self, distributions: Iterable[Distribution]) -> None:
        for shared in distributions:
            for name in {_find_own_part(shared, file) for file in shared.files or ()}:
                place = self.packages / name
                if name.parts[0] not in ("..", "__pycache__") and not place.exists():
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.symlink_to(str(shared.locate_file(name)))

    def uninstall(self, name: str) -> None:
        """Uninstall a distribution."""
        _pip("--python", str(self.python), "uninstall", "--yes", name)


def _find_own_part(shared: Distribution, file: PurePath) -> PurePath:
    """The outermost package that a file lies in, or else the file: folders without a package of their own, as
    `opentelemetry`, hold packages of several distributions."""
    for length in range(1, len(file.parts)):
        part = PurePath(*file.parts[:length])
        if Path(str(shared.locate_file(part / "__init__.py"))).exists():
            return part
    return file


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
