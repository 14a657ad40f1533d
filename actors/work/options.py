"""What a worker is told about how to work: durations in seconds, as an operator sets them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """See `settings` for what each means and for the limits of each."""

    prefetch: int = 1000
    group: int = 256
    broker_stamps: bool = False
    max_clock_lag: float = 2.0
    lease_seconds: float = 5.0
    shards: int = 8
    audit_days: int = 1825
    settle_seconds: float = 3.0
    all_changes: bool = False
    give_up_seconds: float = 300.0
