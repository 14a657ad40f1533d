"""Reading the policies again while the service runs: all of them count, or none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from structlog.typing import FilteringBoundLogger

from actors import policies
from actors.policies import PolicyError
from statecharts.policy import Policies


class Reloading:
    """Reads when it is asked to; what comes of it is in the log."""

    def __init__(
        self,
        known: Policies,
        read: Callable[[], Policies],
        use: Callable[[Policies], None],
        log: FilteringBoundLogger,
    ) -> None:
        """`known` are in use so far; `read` returns those of the files or raises PolicyError."""
        self._known = known
        self._read = read
        self._use = use
        self._log = log
        self._asked = asyncio.Event()

    def ask(self) -> None:
        """Have them read again; asked while they are being read, once more after that."""
        self._asked.set()

    async def run(self) -> None:
        """Do what is asked, until cancelled."""
        while True:
            await self._asked.wait()
            self._asked.clear()
            try:
                found = await asyncio.to_thread(self._read)  # decisions do not wait for a disk
            except PolicyError as error:
                for fault in error.faults:
                    told = {key: value for key, value in fault._asdict().items() if value}
                    self._log.error("a fault of the policies", **told)
                self._log.error("policies not reloaded: all stay as they were")
            except Exception as fault:  # noqa: BLE001 - whatever it is, the service goes on
                self._log.error("policies not reloaded: a fault of ours", exc_info=fault)
            else:
                before, self._known = self._known, found
                self._use(found)
                self._log.info(
                    "policies reloaded",
                    policy=found.default.name, digest=found.default.digest,
                    **changes(before, found),
                )  # fmt: skip
                tell_replaced(found, self._log)


def changes(before: Policies, after: Policies) -> dict[str, dict[str, str]]:
    """Return what is different by `added`, `changed` and `removed`: names with digests of rules."""
    old, new = _digests(before), _digests(after)
    return {
        "added": {name: new[name] for name in sorted(new.keys() - old.keys())},
        "changed": {
            name: f"{old[name]} -> {new[name]}"
            for name in sorted(new.keys() & old.keys())
            if old[name] != new[name]
        },
        "removed": {name: old[name] for name in sorted(old.keys() - new.keys())},
    }


def tell_replaced(known: Policies, log: FilteringBoundLogger) -> None:
    """Warn of bundled names that stand for other rules here: who reads them may not know that."""
    bundled, here = _digests(policies.bundled()), _digests(known)
    for name in sorted(bundled):
        if here[name] != bundled[name]:
            log.warning(
                "a policy file stands for the bundled policy of its name",
                policy=name, digest=here[name], bundled=bundled[name],
            )  # fmt: skip


def _digests(known: Policies) -> Mapping[str, str]:
    return {name: policy.digest for name, policy in known.by_name.items()}
