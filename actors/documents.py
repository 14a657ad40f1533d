"""YAML texts that people write: what they say, where it stands, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

Place = tuple[str | int, ...]
"""Where a value stands: keys, and places in lists."""


class Wrong(NamedTuple):
    """One thing that is wrong; `line` counts from 1."""

    line: int
    key: str
    reason: str


class DocumentError(Exception):
    """A text that is not YAML, or not YAML that can be read."""

    def __init__(self, line: int, reason: str) -> None:
        """`line` counts from 1."""
        super().__init__(f"line {line}: {reason}")
        self.line = line
        self.reason = reason


class Document(NamedTuple):
    """What a text says, and the nodes that know its lines; None and None of an empty one."""

    value: Any
    root: yaml.Node | None

    def line_of(self, place: Place) -> int:
        """Return the line of a key, or of the nearest thing around it that the text has."""
        node, line = self.root, 0
        if node is not None:
            line = node.start_mark.line
        for part in place:
            if isinstance(node, yaml.MappingNode):
                pair = next((pair for pair in node.value if pair[0].value == str(part)), None)
                if pair is None:
                    break
                line, node = pair[0].start_mark.line, pair[1]
            elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
                node = node.value[part]
                line = node.start_mark.line
        return line + 1

    def given_twice(self) -> Iterator[Wrong]:
        """Yield keys that a mapping has twice: YAML would silently take the last."""
        if self.root is not None:
            yield from _given_twice(self.root, frozenset())


def load(text: str) -> Document:
    """Read a text; raises DocumentError."""
    loader = None
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        return Document(None if root is None else loader.construct_document(root), root)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise DocumentError(mark.line + 1 if mark else 1, f"not YAML: {problem}") from None
    except RecursionError:
        raise DocumentError(1, "not YAML that can be read: nested too deeply") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # A value that is not what its form or its tag says, such as the date 2026-02-31.
        raise DocumentError(1, f"not YAML that can be read: {error}") from None
    finally:
        if loader is not None:
            loader.dispose()


def _given_twice(node: yaml.Node, seen: frozenset[int]) -> Iterator[Wrong]:
    if id(node) in seen:
        return
    seen |= {id(node)}
    if isinstance(node, yaml.MappingNode):
        lines: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if key.value in lines:
                yield Wrong(line, str(key.value), f"stands in line {lines[key.value]} already")
            elif isinstance(key.value, str):
                lines[key.value] = line
            yield from _given_twice(value, seen)
    elif isinstance(node, yaml.SequenceNode):
        for one in node.value:
            yield from _given_twice(one, seen)
