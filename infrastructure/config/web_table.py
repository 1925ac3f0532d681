"""The settings of the web tools: the table `[tools.web]`."""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from quorum.infrastructure.config.about import About, ProjectRule
from quorum.infrastructure.config.web_address import is_web_address

SearchName: TypeAlias = Literal["", "searxng", "brave"]

_NEVER = ProjectRule.NEVER
_VARIABLE = r"\A([A-Za-z_][A-Za-z0-9_]*)?\Z"


class WebTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Whether and how a model reaches the web."""

    fetch: Annotated[
        bool,
        About(
            description="Give the model web_fetch, which reads public web pages without asking you."
            " A page can try to persuade the model (prompt injection), and an address "
            "can carry what the model has read to the owner of the server.",
            project=_NEVER,
        ),
    ] = False
    search: Annotated[
        SearchName,
        About(
            description="Give the model web_search, with searxng (your own instance, with json "
            "among its search.formats) or brave (the Brave Search API, which needs a "
            "key). Empty: no search.",
            project=_NEVER,
            expected='"searxng", "brave", or "" for no search',
        ),
    ] = ""
    search_url: Annotated[
        str,
        About(
            description="Address of the search service; it may be on a private network. Required "
            "for searxng; for brave, empty means the public service.",
            project=_NEVER,
            expected='an address that starts with http:// or https://, for example "http://localhost:8888"',
            accepts=is_web_address,
        ),
    ] = ""
    search_key_env: Annotated[
        str,
        Meta(pattern=_VARIABLE),
        About(
            description="Name of the environment variable with the key of the search service; never"
            " the key itself.",
            project=_NEVER,
            expected="the name of an environment variable (not the key itself)",
            unquoted=True,
        ),
    ] = ""
    max_bytes: Annotated[
        int,
        Meta(ge=1024, le=100_000_000),
        About(description="How much of one answer is read, counted after decompression.", project=_NEVER),
    ] = 5_000_000
    timeout_secs: Annotated[
        float,
        Meta(gt=0, le=600),
        About(description="Seconds for one fetch or search, redirects included.", project=_NEVER),
    ] = 30.0
