"""Statements that delete data of a database."""

from __future__ import annotations

import re
from collections.abc import Iterator

from domain.review.objection import Objection
from domain.review.plain_request import Effect, RequestTerms

CLIENTS = frozenset(
    {
        "psql",
        "mysql",
        "mariadb",
        "sqlite3",
        "sqlite",
        "mongo",
        "mongosh",
        "sqlcmd",
        "clickhouse-client",
        "duckdb",
    }
    | {
        "cqlsh",
        "cockroach",
        "bq",
        "usql",
        "pgcli",
        "mycli",
        "sqlplus",
        "isql",
        "snowsql",
        "impala-shell",
        "hive",
    }
)
_STATEMENT = re.compile(
    r"(?i)\b(drop\s+(table|database|schema|collection|keyspace|view|index|user|role)\b"
    r"|truncate\s+(table\s+)?\w|delete\s+from\s+[\w.\"`]+\s*(;|$|\Z)|dropDatabase\s*\(|\.drop\s*\(\s*\)"
    r"|deleteMany\s*\(\s*\{\s*\}|update\s+[\w.\"`]+\s+set\b(?!.*\bwhere\b)|delete\s+from\s+\S+\s+where\s+(1\s*=\s*1|true))"
)


def list_deleted_data(statements: str) -> Iterator[Objection]:
    """What statements in SQL, or calls of a document database, delete."""
    if found := _STATEMENT.search(statements):
        does = f"{' '.join(found[0].split())}: it deletes data of a database"
        yield Objection("destructive", does, _find_terms(found[0], statements))


def _find_terms(statement: str, statements: str) -> RequestTerms | None:
    """How a person asks for it: what is deleted must be named, or all rows be mentioned."""
    words = statement.replace(";", " ").split()
    if words[0].casefold() == "update":
        return RequestTerms(effect=Effect.UPDATE, nouns="all|every|each", needs_noun=True)
    if found := re.search(
        r"(?i)(?:drop\s+\w+(?:\s+if\s+exists)?|truncate(?:\s+table)?|delete\s+from)\s+([\w.\"`]+)|(\w+)\.drop",
        statements,
    ):
        return RequestTerms(effect=Effect.DELETE, names=frozenset({(found[1] or found[2]).strip('"`')}))
    return None
