"""Which queues a routing key leads to, by the rules of AMQP 0-9-1's exchanges."""

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(slots=True)
class _Node:
    """A word of the patterns bound so far: what may follow it, and the queues where it is last."""

    following: dict[str, "_Node"] = field(default_factory=dict)
    queues: dict[str, None] = field(default_factory=dict)


class Router:
    """The bindings of one exchange, as a tree of words.

    >>> router = Router("topic")
    >>> router.bind("shard-0", "4.#")
    >>> router.bind("shard-0", "all")
    >>> router.bind("watcher", "*.a.b")
    >>> router.route("4"), router.route("4.a.b"), router.route("all.a")
    (['shard-0'], ['shard-0', 'watcher'], [])
    >>> router.unbind("shard-0", "4.#")
    >>> router.route("4.a.b")
    ['watcher']
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._root = _Node()
        self._bound: dict[tuple[str, str], None] = {}

    def bind(self, queue: str, pattern: str) -> None:
        """Lead keys that match to a queue: `*` is one word, `#` any number of them, none included.

        A fanout exchange leads every key to every queue.
        """
        self._bound[queue, pattern] = None
        self._node(pattern).queues[queue] = None

    def unbind(self, queue: str, pattern: str) -> None:
        """Undo what `bind` did, if it did."""
        self._bound.pop((queue, pattern), None)
        node = self._node(pattern)
        if not any(one == queue and self._node(other) is node for one, other in self._bound):
            node.queues.pop(queue, None)

    def forget(self, queue: str) -> None:
        """Undo all that leads to a queue."""
        for one, pattern in tuple(self._bound):
            if one == queue:
                del self._bound[one, pattern]
                self._node(pattern).queues.pop(queue, None)

    def route(self, key: str) -> list[str]:
        """Return the queues that a key leads to, each once."""
        return list(dict.fromkeys(_matches(self._root, _words(key), 0)))

    def _node(self, pattern: str) -> _Node:
        node = self._root
        for word in ["#"] if self.kind == "fanout" else _words(pattern):
            node = node.following.setdefault(word, _Node())
        return node


def _words(key: str) -> list[str]:
    return key.split(".") if key else []


def _matches(node: _Node, words: list[str], at: int) -> Iterator[str]:
    if at == len(words):
        yield from node.queues
    elif following := node.following.get(words[at]):
        yield from _matches(following, words, at + 1)
    if at < len(words) and (following := node.following.get("*")):
        yield from _matches(following, words, at + 1)
    if following := node.following.get("#"):
        for skipped in range(at, len(words) + 1):
            yield from _matches(following, words, skipped)
