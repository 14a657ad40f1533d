"""How many examples the property tests try.

By default they try the same ones every time, so that a build does not fail by chance, and so many
that all take about a minute. `SEATWARDEN_EXAMPLES=10000 pytest tests/property` tries that many new
ones of each test (this many take half an hour); what it finds, Hypothesis keeps in `.hypothesis`
and tries first.
"""

import os

import pytest
from hypothesis import settings

pytest.register_assert_rewrite("tests.property.world")

EXAMPLES = int(os.environ.get("SEATWARDEN_EXAMPLES", "0"))
settings.register_profile("ci", max_examples=300, derandomize=True, deadline=None)
settings.register_profile("long", max_examples=EXAMPLES or 10_000, deadline=None)
settings.load_profile("long" if EXAMPLES else "ci")
