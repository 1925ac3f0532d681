"""Builds what is released into a folder: `python .ci/release.py dist/release [--key KEY] [--draft]`.

The source distribution, the wheel and the single file are built twice from the last commit, and have to come
out the same, so that anybody can build them again and compare. `SHA256SUMS` holds their checksums; with the SSH
key it is signed. `--draft` builds a version that the changelog does not have yet.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import platform
import runpy
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
SUMS = "SHA256SUMS"
NAMESPACE = "quorum-release"
"""What a signature is for, lest one that was made for something else counts here."""


def run_git(*arguments: str) -> bytes:
    """What git prints about this repository."""
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout


def build(commit: str, folder: Path) -> dict[str, bytes]:
    """The files of a release by their names, built from a commit in an empty folder."""
    source, made = folder / "source", folder / "made"
    with tarfile.open(fileobj=io.BytesIO(run_git("archive", commit))) as archive:
        archive.extractall(source, filter="data")
    version = runpy.run_path(str(source / "quorum" / "version.py"))["__version__"]
    single = made / f"quorum-{version}-{platform.system()}-{platform.machine()}".lower()
    environ = {**os.environ, "SOURCE_DATE_EPOCH": run_git("log", "-1", "--format=%ct", commit).decode().strip()}
    for words in (["-m", "hatchling", "build", "-d", str(made)], [".ci/single_file.py", str(single)]):
        subprocess.run([sys.executable, *words], cwd=source, env=environ, check=True)
    return {file.name: file.read_bytes() for file in sorted(made.iterdir())}


def build_twice() -> dict[str, bytes]:
    """The files of a release. Exits where a second build differs."""
    commit = run_git("rev-parse", "HEAD").decode().strip()
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        built, again = build(commit, Path(first)), build(commit, Path(second))
    if differing := [name for name in sorted({*built, *again}) if built.get(name) != again.get(name)]:
        sys.exit(f"a second build of the same commit differs: {', '.join(differing)}")
    return built


def write(files: dict[str, bytes], target: Path) -> None:
    """Write the files and their checksums, as `sha256sum` reads them."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name, content in files.items():
        (target / name).write_bytes(content)
        (target / name).chmod(0o644 if name.endswith((".whl", ".tar.gz")) else 0o755)
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in files.items())
    (target / SUMS).write_text(sums, encoding="ascii")


def sign(target: Path, key: Path) -> None:
    """Sign the checksums with an SSH key, or with the one in the agent whose public half this is."""
    words = ["ssh-keygen", "-Y", "sign", "-f", str(key), "-n", NAMESPACE, str(target / SUMS)]
    subprocess.run(words, check=True)


def main() -> None:
    """Build what the command line asks for; exits with what keeps it from being released."""
    parser = argparse.ArgumentParser(description="Build a release.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--key", type=Path)
    parser.add_argument("--draft", action="store_true")
    options = parser.parse_args()
    if run_git("status", "--porcelain"):
        sys.exit("there are changes that are not committed, and a release is built from the last commit")
    version = runpy.run_path(str(ROOT / "quorum" / "version.py"))["__version__"]
    check = runpy.run_path(str(ROOT / ".ci" / "check_release.py"))["problems"]
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in ("quorum/version.py", "CHANGELOG.md")]
    if not options.draft and (wrong := check(f"v{version}", *texts)):
        sys.exit("\n".join(wrong))
    write(build_twice(), options.folder)
    if options.key is None:
        print(f"{options.folder / SUMS} is not signed: SIGNING_KEY names no SSH key")
    else:
        sign(options.folder, options.key)


if __name__ == "__main__":
    main()
