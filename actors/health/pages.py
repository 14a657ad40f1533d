"""The pages: /live for who would restart the process, /ready for who sends it work, /metrics."""

from __future__ import annotations

from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from actors.health.exposition import FORM, Exposition
from actors.work.readiness import Readiness
from actors.work.worker import Worker
from statecharts.instants import to_rfc3339

READY, NOT_READY = 200, 503
_UNCACHED = {"cache-control": "no-store"}


def pages(worker: Worker, exposition: Exposition) -> Starlette:
    """Return the application; none of its pages waits for anything."""

    async def live(_: Request) -> Response:
        return PlainTextResponse("live\n", headers=_UNCACHED)

    async def ready(_: Request) -> Response:
        found = worker.readiness
        status = READY if found.is_ready else NOT_READY
        return JSONResponse(_plain(found), status, headers=_UNCACHED)

    async def metrics(_: Request) -> Response:
        body = await exposition.page()
        return Response(body, headers={"content-type": FORM, **_UNCACHED})

    return Starlette(
        routes=[Route("/live", live), Route("/ready", ready), Route("/metrics", metrics)]
    )


def _plain(readiness: Readiness) -> dict[str, Any]:
    return {
        "ready": readiness.is_ready,
        "since": to_rfc3339(readiness.since),
        "reason": readiness.reason,
        "shards": [
            {
                "shard": trouble.shard,
                "standing": trouble.standing.value,
                "since": to_rfc3339(trouble.since),
                "fault": trouble.fault,
            }
            for trouble in readiness.troubles
        ],
    }
