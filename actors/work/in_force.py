"""The policies in force: one value for all shards of a worker, replaced as a whole."""

from __future__ import annotations

from dataclasses import dataclass

from statecharts.policy import Policies


@dataclass(slots=True)
class InForce:
    """Every group of deliveries is taken under the policies that stand here when it begins.

    They are for turns that begin: an open one carries its own, in the shard and in the journal.
    """

    policies: Policies
