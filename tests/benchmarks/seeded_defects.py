"""Ten small changes, each with one defect of a known kind.

They are written for this purpose, and no code of others is copied. `weakness` is the entry of the Common
Weakness Enumeration that describes the kind, and `published` a vulnerability of it that became known; empty
where there is none.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SeededDefect:
    """A file that is added, with a defect in the line `line`, which `claim` names."""

    path: str
    text: str
    line: int
    kind: str
    claim: str
    weakness: str = ""
    published: str = ""

    @property
    def diff(self) -> str:
        """The change as a unified diff."""
        lines = self.text.splitlines()
        added = "".join(f"+{line}\n" for line in lines)
        head = (
            f"diff --git a/{self.path} b/{self.path}\nnew file mode 100644\n--- /dev/null\n+++ b/{self.path}\n"
        )
        return f"{head}@@ -0,0 +1,{len(lines)} @@\n{added}"


SEEDED_DEFECTS = (
    SeededDefect(
        path="paging.py",
        text="def last_page(total, size):\n    return total // size\n",
        line=2,
        kind="correctness",
        claim="the last page is lost where total is no multiple of size",
        weakness="CWE-682",
    ),
    SeededDefect(
        path="search.py",
        text=("def find(db, name):\n    return db.execute(f\"SELECT * FROM users WHERE name = '{name}'\")\n"),
        line=2,
        kind="security",
        claim="the name is put into the SQL text, so that a person can inject statements",
        weakness="CWE-89",
        published="CVE-2014-3704",
    ),
    SeededDefect(
        path="retry.py",
        text=(
            "def fetch(get):\n"
            "    while True:\n"
            "        try:\n"
            "            return get()\n"
            "        except OSError:\n"
            "            pass\n"
        ),
        line=6,
        kind="error_handling",
        claim="a lasting error is tried again forever without a pause or a limit",
        weakness="CWE-835",
    ),
    SeededDefect(
        path="cache.py",
        text="def collect(item, seen=[]):\n    seen.append(item)\n    return seen\n",
        line=1,
        kind="correctness",
        claim="the default list is shared by all calls",
        weakness="CWE-488",
    ),
    SeededDefect(
        path="unpack.py",
        text="import tarfile\n\n\ndef unpack(name, to):\n    tarfile.open(name).extractall(to)\n",
        line=5,
        kind="security",
        claim="members of the archive can be written outside of the folder",
        weakness="CWE-22",
        published="CVE-2007-4559",
    ),
    SeededDefect(
        path="counter.py",
        text=(
            "class Counter:\n"
            "    value = 0\n"
            "\n"
            "    def add(self):\n"
            "        old = self.value\n"
            "        self.value = old + 1\n"
        ),
        line=6,
        kind="concurrency",
        claim="two threads that add at once lose an update between read and write",
        weakness="CWE-362",
    ),
    SeededDefect(
        path="save.py",
        text='def save(path, text):\n    with open(path, "w") as file:\n        file.write(text)\n',
        line=2,
        kind="data_loss",
        claim="the former content is gone if the process dies before all is written",
    ),
    SeededDefect(
        path="token.py",
        text="def is_valid(given, secret):\n    return given == secret\n",
        line=2,
        kind="security",
        claim="the time of the comparison tells how much of the secret was right",
        weakness="CWE-208",
        published="CVE-2015-7576",
    ),
    SeededDefect(
        path="join.py",
        text=(
            "def render(rows):\n"
            '    text = ""\n'
            "    for row in rows:\n"
            "        text = text + row + text[:0]\n"
            "    return text\n"
        ),
        line=4,
        kind="performance",
        claim="each row copies the whole text, which takes quadratic time",
        weakness="CWE-407",
        published="CVE-2022-45061",
    ),
    SeededDefect(
        path="close.py",
        text=(
            "def read(path):\n"
            "    file = open(path)\n"
            "    if not file.readable():\n"
            "        return None\n"
            "    return file.read()\n"
        ),
        line=2,
        kind="error_handling",
        claim="the file is never closed",
        weakness="CWE-775",
    ),
)
