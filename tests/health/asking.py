"""Asking a worker how it is, as probes and Prometheus do."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

Sample = tuple[str, frozenset[tuple[str, str]]]


@dataclass(frozen=True)
class Answer:
    status: int
    headers: str
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        found = json.loads(self.body)
        assert isinstance(found, dict)
        return found

    def value(self, name: str, **labels: str) -> float:
        """The value of one sample of /metrics; of a counter or histogram under its full name."""
        return samples(self.body)[name, frozenset(labels.items())]


async def ask(port: int, path: str, method: str = "GET") -> Answer:
    """Ask on loopback; raises ConnectionError if nobody answers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        request = f"{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"
        writer.write(request.encode())
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    finally:
        writer.close()
    if not head:
        raise ConnectionResetError
    first, _, headers = head.decode().partition("\r\n")
    return Answer(int(first.split()[1]), headers, body)


def samples(page: bytes) -> dict[Sample, float]:
    """Return the value of each sample of a page for Prometheus."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(page.decode())
        for sample in family.samples
    }
