"""What words of the command line are read as. None of it loads a parser, unless a word cannot be read."""

from __future__ import annotations

from quorum.domain.text.pattern import compile_once

_AMOUNT = r"[0-9]{1,6}(\.[0-9]{1,6})?|\.[0-9]{1,6}"
_NAME = r"[0-9A-Za-z][\w.-]*"


def refuse_value(sentence: str) -> Exception:
    """The error for a word that cannot be read, which is printed with the option's name."""
    from argparse import ArgumentTypeError

    return ArgumentTypeError(sentence)


def parse_count(text: str) -> int:
    """A number from 1 upwards."""
    if not text.isdecimal() or int(text) < 1:
        raise refuse_value(f"{text!r} is not a number from 1 upwards")
    return int(text)


def parse_amount(text: str) -> int:
    """A number from 0 upwards."""
    if not text.isdecimal():
        raise refuse_value(f"{text!r} is not a number from 0 upwards")
    return int(text)


def parse_dollars(text: str) -> float:
    """An amount of US dollars above 0."""
    if not compile_once(_AMOUNT).fullmatch(text) or not float(text):
        raise refuse_value(f"{text!r} is not an amount above 0, such as 0.50")
    return float(text)


def parse_seconds(text: str) -> float:
    """A time above 0."""
    if not compile_once(_AMOUNT).fullmatch(text) or not float(text):
        raise refuse_value(f"{text!r} is not a number of seconds above 0, such as 600")
    return float(text)


def parse_session_name(text: str) -> str:
    """The name of a session. It is not looked up here."""
    if not compile_once(_NAME).fullmatch(text):
        raise refuse_value(f"{text!r} is not the id of a session; see: quorum sessions list")
    return text


def parse_pull_request(text: str) -> int:
    """The number of a pull request."""
    if not text.removeprefix("#").isdecimal() or not 0 < int(text.removeprefix("#")) < 10**9:
        raise refuse_value(f"{text!r} is not the number of a pull request")
    return int(text.removeprefix("#"))


def parse_descriptor(text: str) -> int:
    """The number of an open descriptor."""
    if not text.isdecimal() or len(text) > 6:
        raise refuse_value(f"{text!r} is not the number of an open descriptor")
    return int(text)
