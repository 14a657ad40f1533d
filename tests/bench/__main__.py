"""`make bench`: what it costs, in ratios to a floor that is measured in the same run.

A ratio holds on another machine too; times are this one's, of the processor, so that what else
runs counts for less.
"""

from __future__ import annotations

import os
import platform
import sys

from tests.bench import decoding, figures, memory, simulation, steps

sys.stdout.write(
    f"{platform.python_implementation()} {platform.python_version()}, {platform.machine()},"
    f" {os.cpu_count()} processors\n"
)
for part in (steps, memory, decoding, figures, simulation):
    sys.stdout.write(f"\n{part.measure()}")
    sys.stdout.flush()
