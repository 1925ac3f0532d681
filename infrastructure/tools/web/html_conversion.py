"""The program that turns one HTML page into Markdown; run as a process of its own by `convert_page`.

A page is a stranger's: one that makes the converter use up memory or time ends this process, not quorum.
Standard input: a line of JSON {"base_url", "max_characters", "cpu_secs", "memory_bytes", "packages": the folder
of the converter}, then the page in UTF-8. Standard output: a line of JSON {"title", "characters", "complete"},
then the text, cut to length.
"""

from __future__ import annotations

import json
import resource
import sys


def main() -> None:
    """Read one page, write its text."""
    order = json.loads(sys.stdin.buffer.readline())
    sys.path.append(order["packages"])
    from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_CPU, order["cpu_secs"])
    if sys.platform == "linux":  # elsewhere the limit is not honoured, or refuses what the interpreter has
        _limit(resource.RLIMIT_AS, order["memory_bytes"])
    options = ConversionOptions(
        base_url=order["base_url"],
        inline_data_media="alt_text_only",
        exclude_selectors=["svg"],
        preprocessing=PreprocessingOptions(remove_navigation=True, remove_forms=False),
    )
    converted = convert(sys.stdin.buffer.read().decode(), options)
    text = _strip_front_matter(converted.content or "").strip()
    title = " ".join((converted.metadata.document.title or "").split())
    head = {"title": title, "characters": len(text), "complete": not converted.warnings}
    sys.stdout.buffer.write(json.dumps(head).encode() + b"\n")
    sys.stdout.buffer.write(text[: order["max_characters"]].encode())


def _limit(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    if hard == resource.RLIM_INFINITY or most < hard:
        resource.setrlimit(what, (most, most))


def _strip_front_matter(text: str) -> str:
    """The title is kept separately; the rest of a page's own metadata is mostly for search engines."""
    if text.startswith("---\n"):
        _, mark, rest = text.partition("\n---\n")
        return rest if mark else text
    return text


if __name__ == "__main__":
    main()
