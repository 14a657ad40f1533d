"""Every fault of a policy file, with its line: what is wrong there, and what is allowed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

import yaml
from pydantic import ValidationError

from statecharts.contradictions import Contradictions
from statecharts.policy import Policy

Place = tuple[str | int, ...]
"""Where a value stands: keys, and places in lists."""


class Fault(NamedTuple):
    """One thing that is wrong; `line` counts from 1."""

    line: int
    key: str
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.key}: {self.reason}"


def read(text: str) -> tuple[Policy | None, tuple[Fault, ...]]:
    """Read a policy file's text: the policy, or all that is wrong with it, in order of lines."""
    try:
        keys, root = _loaded(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        return None, (Fault(mark.line + 1 if mark else 1, "policy", f"not YAML: {problem}"),)
    except RecursionError:
        return None, (Fault(1, "policy", "not YAML that can be read: nested too deeply"),)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # A value that is not what its form or its tag says, such as the date 2026-02-31.
        return None, (Fault(1, "policy", f"not YAML that can be read: {error}"),)
    if root is None or not isinstance(keys, dict):
        reason = "a policy is a mapping of keys, such as `buffer_seconds: 3`"
        return None, (Fault(1, "policy", reason),)
    found = [*_given_twice(root)]
    policy = None
    try:
        policy = Policy.model_validate(keys)
    except ValidationError as error:
        found += _faults(error, keys, root)
    return (None if found else policy), tuple(sorted(found))


def line_of(key: str, text: str) -> int:
    """Return in which line of a policy file's text, which can be read, a key stands."""
    _, root = _loaded(text)
    return 1 if root is None else _line(root, (key,))


def _loaded(text: str) -> tuple[object, yaml.Node | None]:
    """Return what a YAML text says, and the nodes that know their lines."""
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        return (None if root is None else loader.construct_document(root)), root
    finally:
        loader.dispose()


def _faults(error: ValidationError, keys: Mapping[Any, Any], root: yaml.Node) -> Iterator[Fault]:
    wrong: set[Any] = set()
    for one in error.errors(include_url=False, include_input=False):
        cause = one.get("ctx", {}).get("error")
        if isinstance(cause, Contradictions):
            yield from _contradicting(cause, root)
            continue
        place: Place = tuple(one["loc"])
        wrong.update(place[:1])
        yield Fault(_line(root, place), _named(place), _reason(one, place))
    # What contradicts itself is only looked for where all keys are right: look at the right ones.
    rest = {key: value for key, value in keys.items() if key not in wrong}
    if wrong and "grace" in rest:
        try:
            Policy.model_validate({"name": "x", **rest})
        except ValidationError as again:
            for one in again.errors(include_url=False, include_input=False):
                cause = one.get("ctx", {}).get("error")
                if isinstance(cause, Contradictions):
                    yield from _contradicting(cause, root)


def _contradicting(cause: Contradictions, root: yaml.Node) -> Iterator[Fault]:
    for key, reason in cause.found:
        yield Fault(_line(root, (key,)), key, reason)


def _reason(error: Mapping[str, Any], place: Place) -> str:
    key = place[-1] if place else ""
    match error["type"]:
        case "extra_forbidden":
            known = [*_schema(place[:-1]).get("properties", {})]
            close = get_close_matches(str(key), known, 1)
            hint = f"did you mean {close[0]}?" if close else f"the keys are {', '.join(known)}"
            return f"there is no such key; {hint}"
        case "missing":
            return f"is missing; it must be {allowed(place)}"
        case "value_error" | "invalid_key":
            return str(error["msg"]).removeprefix("Value error, ")
    return f"must be {allowed(place) or error['msg']}"


# -- What is allowed, from the schema that editors use too


def allowed(place: Place) -> str:
    """Return in words what may stand at a place.

    >>> allowed(("buffer_seconds",))
    'a number from 0 to 86400'
    """
    return _in_words(_schema(place))


def _schema(place: Place) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = _SCHEMA
    for part in place:
        schema = _resolved(schema)
        if isinstance(part, int):
            schema = schema.get("items", {})
        else:
            schema = schema.get("properties", {}).get(part, {})
    return _resolved(schema)


def _resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return _resolved(_SCHEMA["$defs"][name])
    for one in schema.get("anyOf", ()):
        if one.get("type") != "null":
            return _resolved(one)
    return schema


def _in_words(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " or ".join(map(str, schema["enum"]))
    match schema.get("type"):
        case "number" | "integer" as type_:
            number = "a number" if type_ == "number" else "a whole number"
            over, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
            least = f"from {schema['minimum']:g}" if over is None else f"above {over:g}, up"
            most = f"to {schema['maximum']:.16g}" if below is None else f"to less than {below:g}"
            return f"{number} {least} {most}"
        case "array":
            return f"a list, each {_in_words(_resolved(schema['items']))}"
        case "string":
            return _NAME if "pattern" in schema else "text"
        case "boolean" | "object" as type_:
            return "true or false" if type_ == "boolean" else "a mapping of keys"
    return ""


_SCHEMA = Policy.model_json_schema()
_NAME = "text of small letters, digits, - and _, 64 at the most, beginning with a letter or digit"

# -- Lines


def _line(root: yaml.Node, place: Place) -> int:
    """Return the line of a key, or of the nearest thing around it that the file has."""
    node, line = root, root.start_mark.line
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


def _given_twice(node: yaml.Node, seen: frozenset[int] = frozenset()) -> Iterator[Fault]:
    """Yield keys that a mapping has twice: YAML would silently take the last."""
    if id(node) in seen:
        return
    seen |= {id(node)}
    if isinstance(node, yaml.MappingNode):
        lines: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if key.value in lines:
                yield Fault(line, str(key.value), f"stands in line {lines[key.value]} already")
            elif isinstance(key.value, str):
                lines[key.value] = line
            yield from _given_twice(value, seen)
    elif isinstance(node, yaml.SequenceNode):
        for one in node.value:
            yield from _given_twice(one, seen)


def _named(place: Place) -> str:
    """Write a place for people, who count from one."""
    parts = (f"number {part + 1}" if isinstance(part, int) else str(part) for part in place)
    return ", ".join(parts) or "policy"
