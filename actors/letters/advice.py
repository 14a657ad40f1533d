"""What to do about letters of each code."""

from __future__ import annotations

from collections.abc import Mapping

from statecharts.refusals import Code

_ADVICE: Mapping[Code, str] = {
    Code.MALFORMED: "the sender must send one CloudEvents 1.0 JSON object; then drop them",
    Code.UNKNOWN_TYPE: "the sender must use a known type; drop, or redrive after an upgrade",
    Code.INVALID: "the detail says which field; the sender must put it right; then drop them",
    Code.TOO_LARGE: "the sender must keep to 64 KiB, 16 levels, strings of 256; then drop them",
    Code.UNKNOWN_CARD: "a choice that no open discard had; redrive only while that turn is open",
    Code.STALE: "starts that came too late: look for what held them up; then drop them",
    Code.NO_DECISION_TO_MAKE: "the engine must open no turn for who has no chips; then drop them",
    Code.FAILED: "a fault of ours: tell us, keep them; redrive after the upgrade that mends it",
}
_UNKNOWN = "not a code of this version: look at them with `show`"


def advice(code: str) -> str:
    """Return what to do about a code, known or not."""
    return _ADVICE[Code(code)] if code in set(Code) else _UNKNOWN
