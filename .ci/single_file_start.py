"""Starts quorum from one file: unpacks it once into an environment in the cache, and becomes the program there.

`make single-file` puts this before the packages as `__main__.py`. Python 3.6 has to understand it, if only to
say which ones quorum needs.
"""

import os
import sys
import zlib

BUILD = "@BUILD@"
VERSION = "@VERSION@"
PYTHONS = "@PYTHONS@"
SYSTEM = "@SYSTEM@"
MARK = "@MARK@"
EXTRAS = "@EXTRAS@"


def main() -> None:
    """Become quorum, or end with what keeps it from starting."""
    file = os.path.abspath(sys.argv[0])
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if version not in PYTHONS.split():
        start_another_python(file, version)
    base = getattr(sys, "_base_executable", None) or sys.executable
    key = f"{BUILD}-{version}-{zlib.crc32(os.fsencode(base)):08x}"
    places = list_places()
    for place in places:
        if is_unpacked(os.path.join(place, key)):
            start(os.path.join(place, key), file)
    check_system()
    failures = []
    for place in places:
        try:
            unpack(file, place, key, version, base)
        except OSError as error:
            failures.append(f"  {place}: {error.strerror or error}\n")
        else:
            start(os.path.join(place, key), file)
    end(f"it cannot be unpacked:\n{''.join(failures)}Set XDG_CACHE_HOME to a folder that you can write.")


def end(reason: str) -> None:
    """Say why quorum does not start."""
    sys.exit(f"quorum: {reason}")


def start(environment: str, file: str) -> None:
    """Become the program, which knows itself by the path of the file."""
    python = os.path.join(environment, "bin", "python")
    os.execv(python, [python, "-P", os.path.join(environment, "start.py"), file, *sys.argv[1:]])


def start_another_python(file: str, version: str) -> None:
    """Go on with a Python on PATH that fits."""
    import shutil
    import subprocess

    for wanted in reversed(PYTHONS.split()):
        found = shutil.which(f"python{wanted}")
        asked = f"import sys; sys.exit('%d.%d' % sys.version_info[:2] != '{wanted}')"
        if found and subprocess.call([found, "-c", asked], stderr=subprocess.DEVNULL) == 0:
            os.execv(found, [found, file, *sys.argv[1:]])
    end(f"this file needs one of Python {', '.join(PYTHONS.split())}; {sys.executable} is {version}")


def check_system() -> None:
    """End where the compiled parts would not load."""
    here = f"{os.uname()[0]} {os.uname()[4]}"
    if here != SYSTEM:
        end(f"this file is for {SYSTEM}, and this is {here}. `make single-file` in a clone builds one here.")
    if here.startswith("Linux"):
        try:
            has_glibc = bool(os.confstr("CS_GNU_LIBC_VERSION"))
        except (OSError, ValueError):
            has_glibc = False
        if not has_glibc:
            end("this file needs the C library of GNU. Install quorum from a clone: pipx install .")


def list_places() -> "list[str]":
    """The folders that it may be unpacked in, best first: none below the working directory."""
    caches = os.environ.get("XDG_CACHE_HOME", ""), os.path.expanduser("~/.cache")
    places = [os.path.join(each, "quorum", "single-file") for each in caches if os.path.isabs(each)][:1]
    temporary = os.environ.get("TMPDIR", "")
    if not os.path.isabs(temporary):
        temporary = "/tmp"
    return [*places, os.path.join(temporary, f"quorum-{os.geteuid()}")]


def is_private(folder: str) -> bool:
    """Whether nobody but the person, or root, can have put anything into a folder."""
    status = os.lstat(folder)
    is_folder = status.st_mode & 0o170000 == 0o040000
    return is_folder and status.st_uid in (0, os.geteuid()) and not status.st_mode & 0o022


def is_unpacked(environment: str) -> bool:
    """Whether it is there as a whole, and nobody else can have changed it."""
    try:
        os.stat(os.path.join(environment, MARK))
        os.stat(os.path.join(environment, "bin", "python"))
        return is_private(os.path.dirname(environment)) and is_private(environment)
    except OSError:
        return False


def unpack(file: str, place: str, key: str, version: str, base: str) -> None:
    """Have the environment in the place as a whole or not at all, whoever else unpacks it. Raises OSError."""
    import fcntl
    import shutil
    import tempfile

    os.makedirs(place, 0o700, exist_ok=True)
    if not is_private(place):
        raise OSError("other users can write there")
    if os.statvfs(place).f_flag & getattr(os, "ST_NOEXEC", 0):
        raise OSError("it is mounted so that nothing there can run")
    with open(os.path.join(place, f"{key}.lock"), "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        environment = os.path.join(place, key)
        if is_unpacked(environment):
            return
        # The lock is ours: what is there was left by a process that was killed, or by one that tidied up.
        for name in os.listdir(place):
            if name.startswith(key) and not name.endswith(".lock"):
                shutil.rmtree(os.path.join(place, name))
        if sys.stderr.isatty():
            sys.stderr.write(f"Unpacking quorum {VERSION} into {place}, once …\n")
        part = tempfile.mkdtemp(prefix=f"{key}.", dir=place)
        try:
            write_environment(file, part, version, base)
            os.rename(part, environment)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise


def write_environment(file: str, folder: str, version: str, base: str) -> None:
    """Write what `venv` would, and the packages for this version of Python."""
    import io
    import json
    import zipfile

    with zipfile.ZipFile(file) as outer:
        # In memory: to seek backwards in a file within a file reads it from its beginning.
        held = io.BytesIO(outer.read("packages.zip"))
    with zipfile.ZipFile(held) as packages:
        for path, blob in json.loads(packages.read(f"{version}.json").decode()).items():
            written = os.path.join(folder, path)
            os.makedirs(os.path.dirname(written), exist_ok=True)
            with open(written, "wb") as target:
                target.write(packages.read(blob))
    os.makedirs(os.path.join(folder, "bin"))
    for name in ("python", "python3", f"python{version}"):
        os.symlink(base, os.path.join(folder, "bin", name))
    numbers = ".".join(map(str, sys.version_info[:3]))
    home = os.path.dirname(base)
    texts = {
        "pyvenv.cfg": f"home = {home}\ninclude-system-site-packages = false\nversion = {numbers}\n",
        "start.py": "import sys\n\ndel sys.argv[0]\n\nfrom quorum.__main__ import main\n\nmain()\n",
        MARK: "\n".join([f"quorum {VERSION}", *EXTRAS.split(), ""]),
    }
    for name, text in texts.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as target:
            target.write(text)


if __name__ == "__main__":
    main()
