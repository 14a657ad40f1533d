"""What exists on a broker: exchanges, queues, streams, and what is bound to what."""

from collections.abc import Callable, Iterable
from dataclasses import fields

from actors.memory.queues import MessageQueue
from actors.memory.streams import Stream
from actors.memory.topics import Router
from actors.transport import (
    Binding,
    Exchange,
    Message,
    Queue,
    Survey,
    Topology,
    TopologyConflict,
    TransportError,
)

Store = MessageQueue | Stream


class Directory:
    """Everything that has a name.

    Who asks matters only for private queues: `by` is the connection, whatever that is.
    """

    def __init__(self, now: Callable[[], int]) -> None:
        """Make an empty one; `now` gives the time by which messages expire, in microseconds."""
        self._now = now
        self._routers: dict[str, Router] = {}
        self._stores: dict[str, Store] = {}

    def __getitem__(self, name: str) -> Store:
        return self._stores[name]

    def get(self, name: str) -> Store | None:
        """Return a queue or stream, if there is one of that name."""
        return self._stores.get(name)

    def owned(self, by: object) -> list[str]:
        """Return the names of a connection's private queues."""
        return [name for name, store in self._stores.items() if store.owner is by]

    def targets(self, message: Message) -> list[Store] | None:
        """Return where a message goes; None if there is no such exchange."""
        names = [message.routing_key]
        if message.exchange:
            router = self._routers.get(message.exchange)
            if router is None:
                return None
            names = router.route(message.routing_key)
        return [self._stores[name] for name in names if name in self._stores]

    def declare(self, by: object, topology: Topology) -> None:
        """Make what does not exist; raises TopologyConflict, TransportError for unknown names."""
        for exchange in topology.exchanges:
            self._check_exchange(exchange)
            self._routers.setdefault(exchange.name, Router(exchange.kind))
        for queue in topology.queues:
            self._check_queue(by, queue)
            if queue.name not in self._stores:
                self._stores[queue.name] = self._make(by, queue)
        for binding in topology.bindings:
            router = self._routers.get(binding.exchange)
            if router is None or binding.queue not in self._stores:
                missing = "exchange" if router is None else "queue"
                name = binding.exchange if router is None else binding.queue
                raise TransportError(f"NOT_FOUND - no {missing} '{name}'")
            router.bind(binding.queue, binding.key)

    def differences(self, by: object, topology: Topology) -> list[str]:
        """Say what is missing or other than wanted."""
        found = []
        for exchange in topology.exchanges:
            what = f"exchange '{exchange.name}'"
            if exchange.name not in self._routers:
                found.append(f"{what}: missing")
            try:
                self._check_exchange(exchange)
            except TopologyConflict as conflict:
                found.append(f"{what}: {_plain(conflict)}")
        for queue in topology.queues:
            what = f"queue '{queue.name}'"
            if queue.name not in self._stores:
                found.append(f"{what}: missing")
            try:
                self._check_queue(by, queue)
            except TopologyConflict as conflict:
                found.append(f"{what}: {_plain(conflict)}")
        return found

    def unbind(self, bindings: Iterable[Binding]) -> None:
        """Undo what of it exists."""
        for binding in bindings:
            if router := self._routers.get(binding.exchange):
                router.unbind(binding.queue, binding.key)

    def survey(self, by: object, name: str) -> Survey | None:
        """Look at a queue; raises TopologyConflict if it is another's."""
        store = self._stores.get(name)
        if store is None:
            return None
        if store.owner not in {None, by}:
            raise TopologyConflict(locked(name))
        return Survey(messages=store.ready, consumers=store.consumers)

    def delete(self, by: object, name: str) -> bool:
        """Delete a queue that shows neither messages nor consumers, and is no stream."""
        found = self.survey(by, name)
        if found and (found.messages or found.consumers or isinstance(self[name], Stream)):
            return False
        self.forget(name)
        return True

    def forget(self, name: str) -> None:
        """Delete a queue, whatever it holds."""
        if self._stores.pop(name, None):
            for router in self._routers.values():
                router.forget(name)

    def _make(self, by: object, queue: Queue) -> Store:
        if queue.kind == "stream":
            return Stream(queue)
        return MessageQueue(queue, by if queue.kind == "private" else None, self._now)

    def _check_exchange(self, exchange: Exchange) -> None:
        router = self._routers.get(exchange.name)
        if router and router.kind != exchange.kind:
            raise TopologyConflict(
                f"PRECONDITION_FAILED - inequivalent arg 'type' for exchange '{exchange.name}':"
                f" received '{exchange.kind}' but current is '{router.kind}'"
            )

    def _check_queue(self, by: object, queue: Queue) -> None:
        store = self._stores.get(queue.name)
        if store is None:
            return
        if store.owner not in {None, by}:
            raise TopologyConflict(locked(queue.name))
        for field in fields(queue):
            wanted, is_so = (getattr(one, field.name) for one in (queue, store.properties))
            if wanted != is_so:
                raise TopologyConflict(
                    f"PRECONDITION_FAILED - inequivalent arg '{field.name}' for queue"
                    f" '{queue.name}': received '{wanted}' but current is '{is_so}'"
                )


def locked(queue: str) -> str:
    """Return the words about a queue that is another's."""
    return f"RESOURCE_LOCKED - queue '{queue}' is private to another connection"


def _plain(conflict: TopologyConflict) -> str:
    return str(conflict).removeprefix("PRECONDITION_FAILED - ")
