"""A program that stands for a Langfuse server, version 4: the parts of its public API that datasets, experiments and
scores need, with answers of the shape that its own SDK reads.
"""

import base64
import json
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

from aiohttp import web
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.judging.judge.serving import served
from tests.production.langfuse.langfuse_reading import experiment_items, experiments, observations, page

SECRET_KEY = "sk-lf-0123456789"
PROJECT = "project-1"
_IDS = ("traceId", "spanId", "parentSpanId")
_LENGTHS = (16, 32)
NOW = "2026-11-01T10:00:00.000Z"


class LangfuseServer:
    """Keeps datasets by name, items, spans and scores by their ids, and every request that it was sent."""

    def __init__(self) -> None:
        self.url = ""
        self.datasets: dict[str, dict[str, Any]] = {}
        self.items: dict[str, dict[str, Any]] = {}
        self.spans: dict[str, dict[str, Any]] = {}
        self.scopes: dict[str, str] = {}
        """The instrumentation scope of each span."""
        self.scores: dict[str, dict[str, Any]] = {}
        self.most_listed = 50
        """Entries of a page of a listing with cursors."""
        self.asked: Counter[str] = Counter()
        self.bodies: list[bytes] = []
        self.failures: list[web.Response] = []
        """Answers to the next writes, in place of the right ones."""
        self.redirected: dict[str, str] = {}
        """Where requests for a path are sent on to."""
        self.refused_score: str | None = None
        self.public_key = f"pk-lf-{uuid.uuid4()}"
        """Of this server alone: the SDK has one client for each."""
        self._routes: dict[str, Callable[[web.Request, bytes], web.Response]] = {
            "GET v2/datasets/*": self._dataset,
            "POST v2/datasets": self._new_dataset,
            "GET dataset-items": self._items,
            "POST dataset-items": self._upsert,
            "POST otel/v1/traces": self._spans,
            "POST scores": self._scores,
            "GET projects": self._projects,
            "GET experiments": self._experiments,
            "GET experiment-items": self._experiment_items,
            "GET v2/observations": self._observations,
        }

    def environment(self) -> dict[str, str]:
        return {
            "LANGFUSE_HOST": self.url,
            "LANGFUSE_PUBLIC_KEY": self.public_key,
            "LANGFUSE_SECRET_KEY": SECRET_KEY,
        }

    def writes(self) -> int:
        return sum(count for asked, count in self.asked.items() if asked.startswith("POST"))

    async def handle(self, request: web.Request) -> web.StreamResponse:
        path = request.path.removeprefix("/api/public/")
        name = "v2/datasets/*" if path.startswith("v2/datasets/") else path
        self.asked[f"{request.method} {name}"] += 1
        token = base64.b64encode(f"{self.public_key}:{SECRET_KEY}".encode()).decode()
        if request.headers.get("Authorization") != f"Basic {token}":
            return web.json_response({"message": "Invalid credentials. Confirm the right keys."}, status=401)
        body = await request.read()
        if request.method == "POST":
            self.bodies.append(body)
            if self.failures:
                return self.failures.pop(0)
        if name in self.redirected:
            return web.Response(status=307, headers={"Location": self.redirected[name]})
        route = self._routes.get(f"{request.method} {name}")
        if route is None:
            return web.json_response({"message": f"no route {request.method} {path}"}, status=404)
        return route(request, body)

    def _projects(self, request: web.Request, _: bytes) -> web.Response:
        project = {"id": PROJECT, "name": "p", "metadata": {}, "organization": {"id": "o", "name": "o"}}
        return web.json_response({"data": [project]})

    def _dataset(self, request: web.Request, _: bytes) -> web.Response:
        found = self.datasets.get(unquote(request.raw_path.rpartition("/")[2]))
        return web.json_response(found or {"message": "Dataset not found"}, status=200 if found else 404)

    def _new_dataset(self, request: web.Request, sent: bytes) -> web.Response:
        body = json.loads(sent)
        shape = {"description": None, "metadata": None, "inputSchema": None, "expectedOutputSchema": None}
        known = self.datasets.setdefault(body["name"], {"id": f"dataset-{len(self.datasets)}", "createdAt": NOW})
        known |= {**shape, "projectId": PROJECT, "updatedAt": NOW, **body}
        return web.json_response(known)

    def _items(self, request: web.Request, _: bytes) -> web.Response:
        """The newest first, as Langfuse lists them."""
        name, page, limit = request.query["datasetName"], int(request.query["page"]), int(request.query["limit"])
        every = [one for one in reversed(self.items.values()) if one["datasetName"] == name]
        meta = {"page": page, "limit": limit, "totalItems": len(every), "totalPages": -(-len(every) // limit)}
        return web.json_response({"data": every[(page - 1) * limit : page * limit], "meta": meta})

    def _upsert(self, request: web.Request, sent: bytes) -> web.Response:
        body = json.loads(sent)
        dataset = self.datasets[body["datasetName"]]
        given = {name: value for name, value in body.items() if value is not None}
        identity = given.setdefault("id", f"item-{len(self.items)}")
        empty = {"input": None, "expectedOutput": None, "metadata": None, "status": "ACTIVE", "mediaReferences": []}
        known = self.items.setdefault(identity, {**empty, "createdAt": NOW, "datasetId": dataset["id"]})
        known |= {**given, "updatedAt": NOW}
        return web.json_response(known)

    def _spans(self, request: web.Request, body: bytes) -> web.Response:
        if request.content_type == "application/json":
            assert "4" == request.headers["x-langfuse-ingestion-version"]
            sent = json.loads(body)
        else:
            sent = MessageToDict(ExportTraceServiceRequest.FromString(body))
        for scope in (scope for resource in sent["resourceSpans"] for scope in resource["scopeSpans"]):
            for span in scope["spans"]:
                span |= {name: _hexadecimal(span[name]) for name in _IDS if name in span}
                self.spans[span["spanId"]] = span
                self.scopes[span["spanId"]] = scope["scope"]["name"]
        return web.json_response({})

    def _experiments(self, request: web.Request, _: bytes) -> web.Response:
        asked = dict(request.query)
        assert asked["fromStartTime"]
        found = [one for one in experiments(self.spans) if one["datasetId"] == asked["datasetId"]]
        return web.json_response(page(found, asked, self.most_listed))

    def _experiment_items(self, request: web.Request, _: bytes) -> web.Response:
        asked = dict(request.query)
        assert asked["fromStartTime"]
        found = experiment_items(self.spans, self.scores, asked["experimentId"], asked["fields"])
        return web.json_response(page(found, asked, self.most_listed))

    def _observations(self, request: web.Request, _: bytes) -> web.Response:
        asked = dict(request.query)
        return web.json_response(page(observations(self.spans, self.scopes, asked), asked, self.most_listed))

    def _scores(self, request: web.Request, sent: bytes) -> web.Response:
        body = json.loads(sent)
        kept = [one for one in body if one["name"] != self.refused_score]
        self.scores |= {one["id"]: one for one in kept}
        if len(kept) == len(body):
            return web.json_response({"message": "Accepted"}, status=202)
        errors = [{"message": f"{self.refused_score}: value is out of range"}]
        answer = {"accepted": len(kept), "rejected": len(body) - len(kept), "errors": errors}
        return web.json_response(answer, status=207)


def _hexadecimal(identifier: str) -> str:
    """An id of OTLP's JSON as it is; one of protobuf's own JSON is in base64."""
    return base64.b64decode(identifier).hex() if len(identifier) not in _LENGTHS else identifier


@contextmanager
def langfuse_server() -> Iterator[LangfuseServer]:
    kept = LangfuseServer()
    with served(kept.handle, path="") as kept.url:
        yield kept
