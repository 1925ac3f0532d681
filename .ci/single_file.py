"""Builds quorum as one file that any supported Python runs: `python .ci/single_file.py dist/quorum [EXTRA…]`.

The packages are those of the lock file, by their hashes, for every Python that the metadata names, on a system
like this one; contents that several share are kept once. The same inputs give the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import re
import runpy
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

ROOT = Path(__file__).parents[1]
EXTRAS = ("acp", "copilot", "keyring", "mcp", "serve", "web")
"""Those that `make setup` installs."""
MARK = runpy.run_path(str(ROOT / "infrastructure" / "extras.py"))["SINGLE_FILE_MARK"]
_PYTHON = "Programming Language :: Python :: 3."
_TIME = (1980, 1, 1, 0, 0, 0)
_LEFT_OUT = re.compile(
    r"bin/|\.lock$|.*__pycache__/|[^/]+\.dist-info/(direct_url\.json|RECORD|REQUESTED|uv_cache\.json)$"
)


def list_pythons() -> list[str]:
    """The versions of Python that the metadata names, such as 3.11."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [f"3.{each.removeprefix(_PYTHON)}" for each in project["classifiers"] if each.startswith(_PYTHON)]


def build_wheel(folder: Path) -> Path:
    """Build quorum's wheel, without a network."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    (wheel,) = folder.glob("*.whl")
    return wheel


def install(wheel: Path, extras: Sequence[str], python: str, target: Path) -> None:
    """Install the wheel and what it needs for a version of Python, which need not be there."""
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    wanted = target.with_suffix(".txt")
    wanted.write_text(
        f"quorum-agent[{','.join(extras)}] @ {wheel.as_uri()} --hash=sha256:{digest}\n", encoding="utf-8"
    )
    system = ["--python-platform", f"{platform.machine()}-manylinux_2_28"] if sys.platform == "linux" else []
    options = [
        "--no-config",
        "--no-build",
        "--require-hashes",
        "--link-mode",
        "copy",
        "--python-version",
        python,
    ]
    options += ["-r", str(wanted), "-c", str(ROOT / "requirements" / "dev.txt"), "--target", str(target)]
    uv = Path(sys.executable).with_name("uv")
    subprocess.run([uv, "--quiet", "pip", "install", *options, *system], check=True)


def read_packages(target: Path, python: str) -> dict[str, bytes]:
    """What an environment of this Python holds, by its path there."""
    held = {}
    for file in sorted(target.rglob("*")):
        path = file.relative_to(target).as_posix()
        if file.is_file() and not _LEFT_OUT.match(path):
            place = path if path.startswith("share/") else f"lib/python{python}/site-packages/{path}"
            held[place] = file.read_bytes()
    return held


def pack(trees: Mapping[str, Mapping[str, bytes]]) -> bytes:
    """An archive with a table of paths for each Python, and each content once."""
    blobs: dict[str, bytes] = {}
    packed = io.BytesIO()
    with ZipFile(packed, "w") as archive:
        for python, tree in trees.items():
            table = {path: hashlib.sha256(content).hexdigest()[:32] for path, content in tree.items()}
            blobs |= {table[path]: content for path, content in tree.items()}
            _add(archive, f"{python}.json", json.dumps(table).encode(), ZIP_DEFLATED)
        for name in sorted(blobs):
            _add(archive, name, blobs[name], ZIP_DEFLATED)
    return packed.getvalue()


def _add(archive: ZipFile, name: str, content: bytes, method: int) -> None:
    entry = ZipInfo(name, _TIME)
    entry.compress_type = method
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, content)


def render_start(packages: bytes, pythons: Sequence[str], extras: Sequence[str]) -> str:
    """The module that starts the file."""
    text = (ROOT / ".ci" / "single_file_start.py").read_text(encoding="utf-8")
    values = {
        "BUILD": hashlib.sha256(text.encode() + packages).hexdigest()[:16],
        "VERSION": runpy.run_path(str(ROOT / "quorum" / "version.py"))["__version__"],
        "PYTHONS": " ".join(pythons),
        "SYSTEM": f"{platform.system()} {platform.machine()}",
        "MARK": MARK,
        "EXTRAS": " ".join(each for each in extras if each not in EXTRAS),
    }
    return re.sub(r"@([A-Z]+)@", lambda found: values[found[1]], text)


def write(file: Path, packages: bytes, pythons: Sequence[str], extras: Sequence[str] = EXTRAS) -> None:
    """Write the file with its name only once it is whole."""
    part = file.with_name(f"{file.name}.part")
    with part.open("wb") as target:
        target.write(b"#!/usr/bin/env python3\n")
        with ZipFile(target, "w") as archive:
            # Python reads the table of this archive at each start: it is short.
            _add(archive, "__main__.py", render_start(packages, pythons, extras).encode(), ZIP_STORED)
            _add(archive, "packages.zip", packages, ZIP_STORED)
    part.chmod(0o755)
    os.replace(part, file)


def main() -> None:
    """Build the file that the command line names."""
    if len(sys.argv) < 2:
        sys.exit("usage: python .ci/single_file.py FILE [EXTRA…]")
    file, extras = Path(sys.argv[1]), sorted({*EXTRAS, *sys.argv[2:]})
    file.parent.mkdir(parents=True, exist_ok=True)
    pythons = list_pythons()
    with tempfile.TemporaryDirectory() as folder:
        wheel = build_wheel(Path(folder))
        trees = {}
        for python in pythons:
            print(f"Collecting the packages for Python {python}", flush=True)
            target = Path(folder, f"python{python}")
            install(wheel, extras, python, target)
            trees[python] = read_packages(target, python)
        write(file, pack(trees), pythons, extras)
    print(f"{file}: {file.stat().st_size / 1_000_000:.0f} MB, with {', '.join(extras)}")


if __name__ == "__main__":
    main()
