"""The figures in the form of Prometheus: the only module that knows its library.

Nothing is counted here: when somebody asks, the worker's figures are read.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector

from actors.health.backlogs import Backlogs
from actors.observing.figures import Total
from actors.observing.histogram import Histogram
from actors.work.readiness import Standing
from actors.work.worker import Worker
from statecharts.lines import State

FORM = CONTENT_TYPE_PLAIN_0_0_4
"""Of a page: its content type."""
PREFIX = "seatwarden_"
TOTALS = {
    Total.STORMS: ("storms", "Storms: many players of a shard lost at once"),
    Total.INTERRUPTIONS: ("interruptions", "Interruptions: deadlines have moved to their end"),
    Total.REDELIVERIES: ("redeliveries", "Messages that the broker has delivered again"),
    Total.UNROUTED: ("unrouted_decisions", "Decisions that no queue took: nobody has heard them"),
    Total.GIVEN_UP: ("given_up_messages", "Messages given up: a full queue did not take them"),
    Total.FAULTS: ("faults", "Errors of ours; the log has them"),
    Total.ASTRAY: ("astray_messages", "Messages applied in a shard that is not their table's"),
    Total.UNREADABLE_TICKS: ("unreadable_ticks", "Messages in a shard's queue that no worker sent"),
    Total.DISBELIEVED: ("disbelieved_stamps", "Stamps of the broker far ahead of our clock"),
    Total.JOURNAL_BYTES: ("journal_bytes", "Bytes written to the journals"),
}


class Exposition(Collector):
    """A registry of its own, which reads a worker."""

    def __init__(self, worker: Worker, backlogs: Backlogs) -> None:
        """Nothing outlives it: no registry of the process is touched."""
        self._worker = worker
        self._backlogs = backlogs
        self._version = version("seatwarden")
        self.registry = CollectorRegistry()
        self.registry.register(self)
        ProcessCollector(registry=self.registry)

    async def page(self) -> bytes:
        """Return all metrics as text (`FORM`); between any two the shards have their turn."""
        told = []
        for family in self.registry.collect():
            told.append(generate_latest(_Single(family)))
            await asyncio.sleep(0)
        return b"".join(told)

    def describe(self) -> list[Metric]:
        """Nothing is read yet when it is registered."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield every metric as it is now."""
        yield from self._counters()
        yield from self._histograms()
        yield from self._gauges()

    def _counters(self) -> Iterator[Metric]:
        figures = self._worker.figures
        yield _counter("events", "Messages taken", ("type", "verdict"), figures.events.items())
        yield _counter("refusals", "Messages refused", ("code",), _singly(figures.refusals))
        labels = ("rule", "action", "policy")
        yield _counter("decisions", "Decisions made", labels, figures.decisions.items())
        told = "Turns left to the engine"
        yield _counter("uncovered_turns", told, ("reason",), _singly(figures.uncovered))
        told = "Shards lost to this worker against its will"
        yield _counter("leases_lost", told, ("reason",), _singly(figures.losses))
        for total, (name, told) in TOTALS.items():
            yield _counter(name, told, (), [((), figures.totals[total])])

    def _histograms(self) -> Iterator[Metric]:
        figures = self._worker.figures
        late = {"made": figures.made, "confirmed": figures.confirmed}
        told = "From when a decision was due until it was made, and confirmed by the broker"
        yield _histogram("decision_lateness_seconds", told, late, "until")
        for name, told, one in (
            ("confirm_seconds", "From publishing a message to its confirm", figures.confirms),
            ("journal_commit_seconds", "From writing a record to reading it", figures.commits),
            ("journal_group_messages", "Messages that one record covers", figures.groups),
            ("restore_seconds", "Reading a journal on taking a shard over", figures.restores),
            ("loop_delay_seconds", "How late the process wakes who sleeps", figures.loop),
        ):
            yield _histogram(name, told, {"": one})

    def _gauges(self) -> Iterator[Metric]:
        worker, stations = self._worker, self._worker.stations
        seats = Counter(dict.fromkeys(State, 0))
        for station in stations:
            seats.update(station.seats)
        standings = Counter(dict.fromkeys(Standing, 0))
        standings.update(station.standing for station in stations)
        waiting = {str(shard): found for shard, found in sorted(self._backlogs.known.items())}
        yield _gauge("seats", "Seats held", {state.value: seats[state] for state in State}, "state")
        told = "Shards, by how this worker stands to them"
        yield _gauge("shards", told, {one.value: standings[one] for one in Standing}, "standing")
        yield _gauge("backlog_messages", "Messages that wait for a shard", waiting, "shard")
        for name, told, value in (
            ("unsent_messages", "Messages of ours not confirmed yet", _unsent(worker)),
            ("ready", "Whether the worker is ready", worker.readiness.is_ready),
            ("connected", "Whether it is connected to the broker", worker.is_connected),
            ("blocked", "Whether the broker takes no messages now", worker.is_blocked),
        ):
            yield _gauge(name, told, {"": value})
        yield InfoMetricFamily(f"{PREFIX}build", "The program", value={"version": self._version})


class _Single(Collector):
    """A metric that is known already."""

    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> Iterator[Metric]:
        yield self._family


def _unsent(worker: Worker) -> int:
    return sum(station.unsent for station in worker.stations)


def _singly(counter: Mapping[str, int]) -> Iterator[tuple[tuple[str], int]]:
    return (((key,), count) for key, count in counter.items())


def _counter(
    name: str, told: str, labels: Iterable[str], counts: Iterable[tuple[tuple[str, ...], int]]
) -> Metric:
    family = CounterMetricFamily(PREFIX + name, told, labels=list(labels))
    for key, count in sorted(counts):
        family.add_metric(key, count)
    return family


def _gauge(name: str, told: str, values: Mapping[str, float], label: str | None = None) -> Metric:
    family = GaugeMetricFamily(PREFIX + name, told, labels=[label] if label else [])
    for key, value in values.items():
        family.add_metric([key] if label else [], value)
    return family


def _histogram(
    name: str, told: str, values: Mapping[str, Histogram], label: str | None = None
) -> Metric:
    family = HistogramMetricFamily(PREFIX + name, told, labels=[label] if label else [])
    for key, histogram in values.items():
        buckets = [
            ("+Inf" if bound == float("inf") else str(float(bound)), float(count))
            for bound, count in histogram.cumulated()
        ]
        family.add_metric([key] if label else [], buckets, histogram.sum)
    return family
