"""How many examples the property tests try.

By default they try the same examples every time, so that a build does not fail by chance; their
number is for a minute. `SEATWARDEN_PROPERTY=long pytest tests/property` tries new ones, many
more, for half an hour; what it finds, Hypothesis remembers in `.hypothesis` and tries first.
"""

import os

import pytest
from hypothesis import settings

pytest.register_assert_rewrite("tests.property.world")

settings.register_profile("ci", max_examples=300, derandomize=True, deadline=None)
settings.register_profile("long", max_examples=int(os.environ.get("N", "10000")), deadline=None)
settings.load_profile(os.environ.get("SEATWARDEN_PROPERTY", "ci"))
