"""An argument that stands in a tool's path leads out of it in no spelling."""

import json

import pytest

from harness.gateway.toolbox import unroutable
from harness.gateway.upstream.http_tools import route_url
from harness.suite.tools import ToolSpec

TOOL = ToolSpec.model_validate(
    {
        "name": "forecast",
        "description": "The weather.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        "effect": "read",
        "server": "s",
        "http": {"method": "GET", "path": "/forecast/{city}"},
    }
)


@pytest.mark.parametrize(
    "city",
    ["..", ".", "../../admin", "%2e%2e", "%2E%2e/admin", "%252e%252e", "..\\admin", "a/../b", "..;/x", "a%00b", ""],
)
def test_it_is_refused_before_anything_is_sent(city: str) -> None:
    assert (unroutable(TOOL, {"city": city}) or "").startswith(f"$.city: {json.dumps(city)} ")


@pytest.mark.parametrize("city", ["Bad Homburg", "a/b", "v1.2..3", "..hidden", "50%", "?q=1#x", "São Paulo"])
def test_what_only_looks_strange_stays_in_its_segment(city: str) -> None:
    assert None is unroutable(TOOL, {"city": city})
    assert TOOL.http is not None
    url = route_url("http://127.0.0.1/api", TOOL.http, {"city": city})
    assert 3 == url.raw_path.count("/")
    assert "" == url.raw_query_string
