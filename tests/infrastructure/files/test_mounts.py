from pathlib import Path

import pytest

from quorum.infrastructure.files.mounts import are_local

MOUNTS = r"""21 1 254:0 / / rw,relatime - ext4 /dev/vda rw
22 21 0:5 / /proc rw - proc proc rw
23 21 0:40 / /home/a\040b rw shared:1 - nfs4 server:/x rw
24 21 0:41 / /work/remote rw - fuse.sshfs host:/ rw
25 21 0:42 / /covered rw - nfs server:/y rw
26 21 0:43 / /covered rw - tmpfs none rw
"""


@pytest.mark.parametrize(
    ("folders", "local"),
    [
        (["/srv/project"], True),
        (["/covered/x"], True),
        (["/home/a b/project"], False),
        (["/home/ab"], True),
        (["/work"], False),
        (["/work/remote/x"], False),
        (["/work/remotely"], True),
        (["/srv", "/proc/1"], False),
        (["/"], False),
    ],
)
def test_only_file_systems_of_this_machine_are_local(tmp_path: Path, folders: list[str], local: bool) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS)

    assert are_local(folders, mounts) is local


def test_without_a_list_of_mounts_nothing_is_known_to_be_local(tmp_path: Path) -> None:
    assert not are_local(["/"], tmp_path / "none")


@pytest.mark.parametrize("line", ["nonsense", "1 2 3 - ext4", "21 1 254:0 / / rw -"])
def test_a_list_that_cannot_be_read_tells_nothing(tmp_path: Path, line: str) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"21 1 254:0 / / rw - ext4 /dev/vda rw\n{line}\n")

    assert not are_local(["/srv"], mounts)
