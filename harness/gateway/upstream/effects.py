"""Whether a request to a host reads or writes: by its method, unless something in it asks for more.

Servers decode paths and merge slashes, and obey a method or an address that a header or a field names in place of the
request's own. A field of an override is recognised by its letters alone, because servers read hyphens, underscores,
dots and brackets as one another; whatever it says, the request is no read.
"""

import re
from collections.abc import Iterator, Mapping
from json import detect_encoding
from typing import Final
from urllib.parse import unquote

from pydantic import JsonValue

from harness.gateway.upstream.request_parts import query_of
from harness.suite.hosts import HostSpec
from harness.suite.tools import Effect
from harness.values import JsonObject, NotJson, parse_json

_SLASHES: Final = re.compile("/{2,}")
_NO_LETTERS: Final = re.compile("[^a-z0-9]")
_OTHER_METHOD: Final = re.compile(r"(x|http|request|tunnel)*(method|verb)(override|tunnel)?")
_OTHER_ADDRESS: Final = re.compile(
    r"(x|http|envoy)*(original|rewrite|forwarded|override|real|raw|proxy|request|destination)+(method|verb|url|uri|path"
    r"|target)|(x|http)*(url|uri|path)(override|rewrite)"
)
_SEPARATORS: Final = re.compile(r"[?&;\r\n]")
_WITHIN: Final = re.compile(r"[\[\].]+")
_FIELD_NAME: Final = re.compile(rb"name(\*[0-9])?\*?\s*=\s*\"?([^\";\r\n]+)", re.IGNORECASE)
_OTHER_LETTERS: Final = re.compile(r"charset=[\"\s]*(?!utf-?8|us-ascii|iso-8859-1)\w", re.IGNORECASE)


def effect_of(host: HostSpec, path: str, query: str, method: str, headers: Mapping[str, str], body: bytes) -> Effect:
    """`write` if any reading of the request is one."""
    if _asks_otherwise(f"{path}?{query}", headers, body):
        return "write"
    decoded = (path, unquote(path), unquote(unquote(path)))
    paths = {form for one in decoded for form in (one, _SLASHES.sub("/", one))}
    graphql = _graphql(path, query, body) if method in {"GET", "POST"} else None
    if graphql is None:
        return "write" if any(host.effect_of(method, one) == "write" for one in paths) else "read"
    declared = [[host.declared(method, f"{one}#{name}") for one in paths] for name, _ in graphql]
    if any("write" in one for one in declared) or any(host.declared(method, one) == "write" for one in paths):
        return "write"
    reads = (kind == "query" or "read" in one for (_, kind), one in zip(graphql, declared, strict=True))
    return "read" if all(reads) else "write"


def _asks_otherwise(target: str, headers: Mapping[str, str], body: bytes) -> bool:
    """Whether a header or a field names another method or address than the request's own."""
    names = (_NO_LETTERS.sub("", name.lower()) for name in headers)
    if any(_OTHER_METHOD.fullmatch(name) or _OTHER_ADDRESS.fullmatch(name) for name in names):
        return True
    kind = headers.get("content-type", "").lower() if body else ""
    fields = (*_fields(target), *_fields_of_body(body, is_json="json" in kind))
    return _OTHER_LETTERS.search(kind) is not None or any(map(_is_override, fields))


def _fields(text: str) -> Iterator[str]:
    """What may be the name of a field, wherever a server begins one."""
    for piece in _SEPARATORS.split(unquote(unquote(text.replace("+", " ")))):
        yield piece.partition("=")[0]


def _fields_of_body(body: bytes, *, is_json: bool) -> Iterator[str]:
    """Of a form or of JSON, at any depth. What cannot be read here counts as `_method`: others may read it."""
    for pieces, name in _FIELD_NAME.findall(body):
        yield "_method" if pieces else unquote(name.decode("latin-1").rpartition("''")[2])
    text = body.decode(detect_encoding(body), "replace").removeprefix("\ufeff")
    try:
        waiting = [parse_json(text.encode())]
    except NotJson:
        unread = body and (is_json or text.lstrip()[:1] in {"{", "["})
        yield from ("_method",) if unread else _fields(body.decode("latin-1"))
        return
    while waiting:
        held = waiting.pop()
        yield from held if isinstance(held, dict) else ()
        waiting += held.values() if isinstance(held, dict) else held if isinstance(held, list) else ()


def _is_override(field: str) -> bool:
    """`method` by itself is a field like any other: many servers use it for their own purposes."""
    return any(map(_is_override_name, (field, *_WITHIN.split(field))))


def _is_override_name(field: str) -> bool:
    name = field.strip().lower()
    letters = _NO_LETTERS.sub("", name)
    named = letters.startswith("xhttp") or letters.endswith(("override", "tunnel")) or not name[:1].isalnum()
    return named and _OTHER_METHOD.fullmatch(letters) is not None


# GraphQL: the kind of the operation that is executed tells what it does.

_GRAPHQL: Final = re.compile(r"/(graphql|gql)([/;]|$)", re.IGNORECASE)
_GRAPHQL_FIELDS: Final = frozenset({"query", "variables", "operationName", "extensions"})
_TOKEN: Final = re.compile(r'"""(?:[^"]|"(?!""))*"""|"(?:[^"\\\r\n]|\\.)*"|#[^\r\n]*|[_A-Za-z][_A-Za-z0-9]*|\S')
_KINDS: Final = frozenset({"query", "mutation", "subscription", "fragment"})
_UNREADABLE: Final = ("", "unreadable")
Operation = tuple[str, str]
"""Name and kind."""


def _graphql(path: str, query: str, body: bytes) -> list[Operation] | None:
    """The operations that are executed; None: the request asks for none, so that its method tells what it does."""
    if not _GRAPHQL.search(unquote(path)):
        return None
    try:
        asked = parse_json(body, once=True) if body else []
    except NotJson:
        return [_UNREADABLE] if query else None
    fields = query_of(query)
    found: list[JsonValue] = [fields] if isinstance(fields, dict) and "query" in fields else []
    found += asked if isinstance(asked, list) else [asked]
    if isinstance(fields, str) or not all(isinstance(one, dict) and "query" in one for one in found):
        return [_UNREADABLE] if body or isinstance(fields, str) else None
    return [operation for one in found if isinstance(one, dict) for operation in _executed(one)] or None


def _executed(asked: JsonObject) -> list[Operation]:
    """The operation that is named, or all of the document; one that cannot be read counts as a write."""
    document, wanted = asked["query"], asked.get("operationName") or None
    if not isinstance(document, str) or not _GRAPHQL_FIELDS.issuperset(asked):
        return [_UNREADABLE]
    if '"""' in document and "\\" in document:  # readers end such a text at different places
        return [_UNREADABLE]
    named = [one for one in _operations(document) if wanted is None or one[0] == wanted]
    return named or [_UNREADABLE]


def _operations(document: str) -> Iterator[Operation]:
    depth, kind, name, before = 0, "", "", ""
    for token in _TOKEN.findall(document):
        if token[0] in "#,":
            continue
        if depth == 0 and not kind and token in _KINDS:
            kind, name = token, ""
        elif depth == 0 and before == kind and not name and token[0].isidentifier():
            name = token
        elif depth == 0 and token == "{":
            if kind != "fragment":
                yield name, kind or "query"
            kind = name = ""
        elif depth == 0 and not kind and token != "}":
            yield _UNREADABLE
        depth += (token in "{([") - (token in "})]")
        before = token
