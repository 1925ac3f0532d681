"""Statements that delete data of a database, show its credentials, give rights in it, or reach beyond it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from quorum.domain.review.objection import Objection
from quorum.domain.review.plain_request import Effect, RequestTerms

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
        "influx",
        "clickhouse",
        "mysqlsh",
        "trino",
        "presto",
        "beeline",
        "surreal",
        "wrangler",
        "turso",
    }
)
_STATEMENT = re.compile(
    r"(?i)(?:\b|(?<=[\])]))(drop\s+(table|database|schema|collection|keyspace|view|index|user|role)\b"
    r"|truncate\s+(table\s+)?\w|delete\b[^;]{0,200}?\bfrom\b(?![^;]{0,2000}\bwhere\b)\s*[\w.\"`]*|dropDatabase\s*\(|\.drop\s*\(\s*\)"
    r"|deleteMany\s*\(\s*(\{\s*\}\s*)?\)|\.remove\s*\(\s*\{\s*\}|\b(delete|destroy)_all\b|\btruncate\s*:\s*true"
    r"|\.(objects|query)(\.all\s*\(\s*\))?\.delete\s*\(\s*\)|\.all\s*\(\s*\)\.delete\s*\(\s*\)|::truncate\s*\(\s*\)"
    r"|::query\s*\(\s*\)->delete\s*\(\s*\)|\.query\s*\(\s*\w+\s*\)\.delete\s*\(\s*\)|update\s+[\w.\"`]+\s+set\b(?!.*\bwhere\b)|delete\s+from\s+\S+\s+where\s+(1\s*=\s*1|true))"
)


_ONE_WORD = re.compile(r"[^\s;()]*")
_NAME = r"[\w.\"`]+"
_NAMES = rf"(?P<names>{_NAME}(?:\s*,\s*{_NAME})*)"
_HARMLESS = re.compile(r"(?i)(?:begin|commit|end|rollback|select|show|start\s+transaction)\b|\Z")
_CHANGES = re.compile(
    r"(?i)(?:\s|--[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*+(?:drop|truncate|delete|update|with|alter)\b|db\."
)
_DROP = re.compile(rf"(?i)drop\s+(?P<kind>\w+)(?:\s+if\s+exists)?\s+{_NAMES}(?:\s+restrict)?")
_TRUNCATE = re.compile(
    rf"(?i)truncate(?:\s+table)?\s+{_NAMES}(?:\s+(?:restart|continue)\s+identity)?(?:\s+restrict)?"
)
_DELETE = re.compile(rf"(?i)delete\s+from\s+(?P<names>{_NAME})(?:\s+where\s+(?:1\s*=\s*1|true))?")
_UPDATE = re.compile(rf"(?i)update\s+(?P<names>{_NAME})\s+set\b.*", re.DOTALL)
_DROP_CALL = re.compile(r"(?:db\.)?(?P<names>\w+)\.drop\s*\(\s*\)")
_TABLES = "tables?|collections?"
# PostgreSQL 15, MySQL 8.0, MariaDB 10.11, SQL Server 2022, Oracle 19c, SQLite 3.40, ClickHouse 23, MongoDB 6.
_CREDENTIALS = re.compile(
    r"(?i)\bpg_(shadow|authid)\b|\brolpassword\b|\bauthentication_string\b|\bmysql\.(user|global_priv)\b"
    r"|\bsys\.(sql_logins|syslogins)\b|\bpassword_hash\b[^;]{0,200}\bsys\.|\b(sys\.user\$|dba_users)|\bpg_user_mappings?\b"
    r"|\bsystem\.users\b|\bshow\s+create\s+user\b|\bshow\s+grants\s+for\b[^;]{0,80}\bidentified\b"
)
_REACHES_OUT = re.compile(
    r"(?is)\bcopy\s[^;]{0,2000}\b(from|to)\s+program\b|\bxp_(cmdshell|regwrite|dirtree)\b|\binto\s+(out|dump)file\b"
    r"|\bload_file\s*\(|\bload\s+data\s+(?!local\b)[^;]{0,80}\binfile\b|\bpg_(read|write)_(binary_)?file\s*\(|\bpg_ls_dir\s*\("
    r"|\blo_(import|export)\s*\(|\bload_extension\s*\(|\bsp_oacreate\b|\butl_(file|http)\.|\bcreate\s+(or\s+replace\s+)?function\b"
    r"[^;]{0,2000}\blanguage\s+['\"]?(c|plpython3?u|plperlu|plsh)\b|\bcopy\s[^;]{0,2000}\bto\s+'/(?!tmp/|dev/std)"
)
_GIVES_RIGHTS = re.compile(
    r"(?i)\bgrant\s+[^;]{1,300}\bto\b|\b(create|alter)\s+(user|role|login)\b|\bcreateUser\b|\bgrantRoles\w*"
    r"|\bset\s+password\b|\bsp_addsrvrolemember\b|\bidentified\s+(by|with)\b|\bdisable\s+row\s+level\s+security\b"
)


def list_reached_data(texts: Sequence[str]) -> Iterator[Objection]:
    """The credentials that statements show, what they reach beside the data, and the rights that they give."""
    text = "\n".join(each for each in texts if not _ONE_WORD.fullmatch(each))
    if _CREDENTIALS.search(text):
        yield Objection("secret", "it shows the credentials that a database keeps")
    if found := _REACHES_OUT.search(text):
        yield Objection(
            "destructive", f"{' '.join(found[0].split())[:60]}: it reaches files or programs through a database"
        )
    if found := _GIVES_RIGHTS.search(text):
        yield Objection(
            "destructive", f"{' '.join(found[0].split())[:60]}: it gives somebody rights in a database"
        )


_KINDS = {
    **dict.fromkeys(("database", "keyspace"), "databases?|db|keyspaces?"),
    **dict.fromkeys(("user", "role"), "users?|roles?"),
    "index": "index|indexes|indices",
}
_ROWS = "all|every|each|rows?|records|entries|contents?|empty|clear"


def list_deleted_data(
    texts: Sequence[str], *, is_whole: bool = True, is_read_by_driver: bool = False
) -> Iterator[Objection]:
    """What statements in SQL, or calls of a document database, delete.

    A request covers a statement if the others only read, or are objected to, and so asked for, themselves.
    `is_whole`: nothing runs beside these texts. Texts of one word are options, hosts and names of databases.
    `is_read_by_driver`: each part is one statement, and does what its first word says, or is no SQL at all.
    """
    statements = [part.strip() for text in texts if not _ONE_WORD.fullmatch(text) for part in text.split(";")]
    if is_read_by_driver:
        statements = [each for each in statements if _CHANGES.match(each)]
        texts = ()
    found = [(each, match[0]) for each in statements if (match := _STATEMENT.search(each))]
    is_whole = is_whole and all(_STATEMENT.search(each) or _HARMLESS.match(each) for each in statements)
    if not found and (match := _STATEMENT.search("\n".join(texts))):
        found, is_whole = [(match[0], match[0])], False
    for statement, act in found:
        does = f"{' '.join(act.split())}: it deletes data of a database"
        yield Objection("destructive", does, _find_terms(statement) if is_whole else None)


def _find_terms(statement: str) -> RequestTerms | None:
    """How a person asks for it: all that is deleted must be named, or all rows be mentioned. None where the
    statement does more than one thing, or also deletes what depends on it."""
    if found := _UPDATE.fullmatch(statement):
        return RequestTerms(
            effect=Effect.UPDATE, names=_split_names(found), nouns="all|every|each", needs_noun=True
        )
    if found := _DELETE.fullmatch(statement):
        return RequestTerms(effect=Effect.DELETE, names=_split_names(found), nouns=_ROWS, needs_noun=True)
    if found := _DROP.fullmatch(statement):
        names, kind = _split_names(found), found["kind"].casefold()
        if kind in ("table", "collection"):
            return RequestTerms(effect=Effect.DELETE, names=names, kind=_TABLES)
        return RequestTerms(
            effect=Effect.DELETE, names=names, kind=_KINDS.get(kind, f"{kind}s?"), needs_kind=True
        )
    if found := _TRUNCATE.fullmatch(statement) or _DROP_CALL.fullmatch(statement):
        return RequestTerms(effect=Effect.DELETE, names=_split_names(found), kind=_TABLES)
    return None


def _split_names(found: re.Match[str]) -> frozenset[str]:
    return frozenset(name.strip().strip('"`') for name in found["names"].split(","))
