"""Every fault of a policy file, with its line: what is wrong there, and what is allowed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from pydantic import ValidationError

from actors import documents
from actors.documents import Document, DocumentError, Place
from statecharts.contradictions import Contradictions
from statecharts.policy import Policy


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
        document = documents.load(text)
    except DocumentError as error:
        return None, (Fault(error.line, "policy", error.reason),)
    return of_document(document)


def of_document(document: Document, within: Place = ()) -> tuple[Policy | None, tuple[Fault, ...]]:
    """Make the policy of a document, or of what stands `within` it, or tell what is wrong."""
    keys = document.value
    for part in within:
        keys = keys[part]
    if not isinstance(keys, dict):
        reason = "a policy is a mapping of keys, such as `buffer_seconds: 3`"
        return None, (Fault(document.line_of(within), "policy", reason),)
    found = [Fault(*one) for one in document.given_twice()]
    policy = None
    try:
        policy = Policy.model_validate(keys)
    except ValidationError as error:
        found += _faults(error, keys, document, within)
    return (None if found else policy), tuple(sorted(found))


def line_of(key: str, text: str) -> int:
    """Return in which line of a policy file's text, which can be read, a key stands."""
    return documents.load(text).line_of((key,))


def _faults(
    error: ValidationError, keys: Mapping[Any, Any], document: Document, within: Place
) -> Iterator[Fault]:
    wrong: set[Any] = set()
    for one in error.errors(include_url=False, include_input=False):
        cause = one.get("ctx", {}).get("error")
        if isinstance(cause, Contradictions):
            yield from _contradicting(cause, document, within)
            continue
        place: Place = tuple(one["loc"])
        wrong.update(place[:1])
        yield Fault(document.line_of((*within, *place)), _named(place), _reason(one, place))
    # What contradicts itself is only looked for where all keys are right: look at the right ones.
    rest = {key: value for key, value in keys.items() if key not in wrong}
    if wrong and "grace" in rest:
        try:
            Policy.model_validate({"name": "x", **rest})
        except ValidationError as again:
            for one in again.errors(include_url=False, include_input=False):
                cause = one.get("ctx", {}).get("error")
                if isinstance(cause, Contradictions):
                    yield from _contradicting(cause, document, within)


def _contradicting(cause: Contradictions, document: Document, within: Place) -> Iterator[Fault]:
    for key, reason in cause.found:
        yield Fault(document.line_of((*within, key)), key, reason)


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


def _named(place: Place) -> str:
    """Write a place for people, who count from one."""
    parts = (f"number {part + 1}" if isinstance(part, int) else str(part) for part in place)
    return ", ".join(parts) or "policy"
