"""`quorum sessions search`: sessions by the words of their prompts and answers."""

from __future__ import annotations

import os

from quorum.cli.sessions import SearchOptions
from quorum.domain.text.printable import make_printable
from quorum.errors import complain
from quorum.session_store import SessionStore

_MOST_HITS = 20


async def search(wish: SearchOptions, store: SessionStore) -> int:
    """Print the sessions, the one used last first, each with the place of the words; always 0."""
    from quorum.infrastructure.session_search import SessionSearch, locate_search_index

    words = [word for part in wish.words for word in part.split()]
    mask = store.build_mask()
    index = SessionSearch(
        store.archive,
        locate_search_index(os.environ),
        mask=mask,
        announce=lambda count: complain(
            [f"{count} sessions are taken into the index first; later only new ones"]
        ),
    )
    hits = await index.search(words, cwd=None if wish.all else store.cwd, limit=wish.limit or _MOST_HITS)
    if wish.json:
        from quorum.application.export.session_json import encode_ascii_json, encode_summary

        print(
            encode_ascii_json(
                [{**encode_summary(hit.session), "snippet": hit.snippet} for hit in hits], indent=1
            )
        )
        return 0
    if not hits:
        complain([f"no session{'' if wish.all else ' of this folder'} holds all of these words"])
    for hit in hits:
        title = make_printable(mask(hit.session.title), newlines=False)
        print(f"{hit.session.id}  {title}\n    {make_printable(hit.snippet, newlines=False)}")
    return 0
