"""A storm: many players of one policy have lost their connection within a short time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from statecharts.instants import from_seconds
from statecharts.policy import Policy

ANY_GATEWAY = 0


class Storm(NamedTuple):
    """Since when, over whom, and until when decisions are held; instants in microseconds."""

    policy: str
    """Its digest."""
    gateway: int
    """Digest of the one whose players were lost; 0 is any."""
    began: int
    held_until: int
    over: int
    """Until then no other one begins."""

    @classmethod
    def of(cls, policy: Policy, gateway: int, began: int) -> Storm:
        """Return the storm that begins now."""
        rule = policy.storm
        held_until = began + from_seconds(rule.hold_seconds)
        over = max(held_until, began + from_seconds(rule.within_seconds))
        return cls(policy.digest, gateway, began, held_until, over)

    def is_now(self, policy: str, gateway: int, at: int) -> bool:
        """Say whether it is this one, and not over."""
        return (self.policy, self.gateway) == (policy, gateway) and at <= self.over


def held_until(storms: Iterable[Storm], policy: Policy, gateway: int, at: int) -> int | None:
    """Return until when the decision for a player of a gateway is held; None if it is not."""
    ends = (
        storm.held_until
        for storm in storms
        if storm.policy == policy.digest
        and storm.gateway in (ANY_GATEWAY, gateway)
        and storm.began <= at < storm.held_until
    )
    return max(ends, default=None)
