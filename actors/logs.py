"""The log, on standard error: for people on a terminal, JSON lines for machines."""

from __future__ import annotations

import logging
import sys
from typing import Literal, cast

import structlog
from structlog.typing import FilteringBoundLogger, Processor

_TRACEBACKS = structlog.processors.ExceptionRenderer(
    structlog.tracebacks.ExceptionDictTransformer(show_locals=False)  # they hold cards and secrets
)


class Foreign(logging.Handler):
    """What libraries and asyncio itself log, as lines of ours."""

    def __init__(self, log: FilteringBoundLogger) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        fault = record.exc_info[1] if record.exc_info else None
        self._log.log(record.levelno, record.getMessage(), by=record.name, exc_info=fault)


def make_log(form: Literal["auto", "console", "json"], level: str) -> FilteringBoundLogger:
    """Return a log; nothing global is changed."""
    for_people = sys.stderr.isatty() if form == "auto" else form == "console"
    ends: list[Processor] = (
        [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())]
        if for_people
        else [_TRACEBACKS, structlog.processors.JSONRenderer()]
    )
    return cast(
        "FilteringBoundLogger",
        structlog.wrap_logger(
            structlog.PrintLogger(sys.stderr),
            wrapper_class=structlog.make_filtering_bound_logger(
                logging.getLevelNamesMapping()[level.upper()]
            ),
            processors=[
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                *ends,
            ],
        ),
    )
