"""Builds the guide as a site with search, from the pages as they are: `python .ci/site.py dist/site`.

The pages keep their places, so that their links lead to the same pages in the repository and in the site. A
link that leads nowhere stops the build. A visit asks no other host for anything.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
BESIDE = ("README.md", "CHANGELOG.md", "SECURITY.md", "CONTRIBUTING.md", "AGENTS.md", "LICENSE", "quorum.toml")
"""What pages link to outside `docs`, and the page that the site begins with."""
_SECTION = re.compile(r"\*\*(.+)\*\*")
_LINK = re.compile(r"\[([^\]]+)\]\(([\w./-]+\.md)\)")


def list_sections(index: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """The sections of the index, each with the titles and paths of its pages."""
    sections: list[tuple[str, list[tuple[str, str]]]] = []
    for line in index.splitlines():
        if heading := _SECTION.fullmatch(line):
            sections.append((heading[1], []))
        elif line.startswith(("- ", "  ")) and sections:
            sections[-1][1].extend(
                (title.replace("`", ""), f"docs/{path}") for title, path in _LINK.findall(line)
            )
    return sections


def render_settings(index: str) -> str:
    """The settings of the builder."""
    pages = [{"Overview": "README.md"}, {"All pages": "docs/README.md"}]
    pages += [{title: [{name: path} for name, path in listed]} for title, listed in list_sections(index)]
    pages.append({"Changelog": "CHANGELOG.md"})
    nav = ",\n".join(f"  {_render_entry(page)}" for page in pages)
    return f"""[project]
site_name = "quorum"
docs_dir = "pages"
site_dir = "site"
nav = [
{nav}
]

[project.theme]
language = "en"
font = false
features = ["content.code.copy", "navigation.footer", "navigation.top", "search.highlight", "toc.follow"]

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"

[project.extra]
generator = false
"""


def _render_entry(value: object) -> str:
    match value:
        case dict():
            return (
                "{"
                + ", ".join(f"{json.dumps(key)} = {_render_entry(each)}" for key, each in value.items())
                + "}"
            )
        case list():
            return "[" + ", ".join(map(_render_entry, value)) + "]"
    return json.dumps(value)


def gather(pages: Path) -> None:
    """Copy what the site is made of, in the places of the repository."""
    pages.mkdir()
    for name in BESIDE:
        shutil.copyfile(ROOT / name, pages / name)
    shutil.copytree(ROOT / "docs", pages / "docs", ignore=shutil.ignore_patterns("__pycache__"))
    (pages / "benchmarks").mkdir()
    shutil.copyfile(ROOT / "benchmarks" / "README.md", pages / "benchmarks" / "README.md")


def main() -> None:
    """Build the site into the folder that the command line names, in place of what is there."""
    if len(sys.argv) != 2:
        sys.exit("usage: python .ci/site.py FOLDER")
    target = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        gather(Path(folder, "pages"))
        index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
        Path(folder, "zensical.toml").write_text(render_settings(index), encoding="utf-8")
        builder = Path(sys.executable).with_name("zensical").absolute()
        subprocess.run([builder, "build", "--strict"], cwd=folder, check=True)
        if target.exists():
            shutil.rmtree(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(Path(folder, "site"), target)


if __name__ == "__main__":
    main()
