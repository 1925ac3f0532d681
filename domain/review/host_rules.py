"""Rules about hosts, as `network(pypi.org, *.pythonhosted.org)`: which of them a command without network
reaches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from quorum.domain.review.permission_rules import Answer, Rule, Subject
from quorum.domain.shell.network_hosts import HOST_RULE, HostList, HostPattern, read_hosts


def collect_hosts(rules: Iterable[Rule]) -> HostList:
    """What rules let commands reach. One that asks or denies withholds its hosts from all that allow them."""
    allowed: list[HostPattern] = []
    withheld: list[HostPattern] = []
    for rule, hosts in _list_host_rules(rules):
        (allowed if rule.answer is Answer.ALLOW else withheld).extend(hosts)
    return HostList(allowed=tuple(allowed), withheld=tuple(withheld))


def find_rules_on_host(rules: Iterable[Rule], host: str) -> tuple[Rule, ...]:
    """The rules that speak of a host that a call asks for: those that restrict where they may, those that allow
    where they stand for all of it."""
    asked = HostPattern.parse(host)
    return tuple(
        rule
        for rule, hosts in _list_host_rules(rules)
        if any(each.includes(asked) if rule.answer is Answer.ALLOW else each.overlaps(asked) for each in hosts)
    )


def list_closed_hosts(rules: Sequence[Rule], subject: Subject) -> tuple[str, ...]:
    """The hosts that a call asks for and that no rule has anything to say about."""
    asked = subject.shell.asked_hosts if subject.shell is not None else ()
    return tuple(host for host in asked if not find_rules_on_host(rules, host))


def covers_hosts(rule: Rule, subject: Subject) -> bool:
    """Whether a rule speaks of a host that a call asks for."""
    asked = subject.shell.asked_hosts if subject.shell is not None else ()
    return any(find_rules_on_host((rule,), host) for host in asked)


def _list_host_rules(rules: Iterable[Rule]) -> Iterator[tuple[Rule, tuple[HostPattern, ...]]]:
    for rule in rules:
        if rule.tool == HOST_RULE and rule.pattern is not None:
            yield rule, read_hosts(rule.pattern)
