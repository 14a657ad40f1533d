"""Measures the loop: how late it wakes who sleeps is how late everything else comes at times."""

from __future__ import annotations

import asyncio

from actors.observing.histogram import Histogram

EVERY = 0.25


async def feel_the_loop(delays: Histogram) -> None:
    """Count, four times a second, the seconds by which the loop is late; until cancelled."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + EVERY
        await asyncio.sleep(EVERY)
        delays.observe(max(0.0, loop.time() - due))
