"""The code in a suite: a suite that is stored beside a run may come from an untrusted source, and must name none."""

from collections.abc import Iterator

from harness.case import Suite
from harness.score.metrics import METRICS
from harness.score.verifiers import VERIFIERS


def named_code(suite: Suite) -> tuple[str, ...]:
    """Each field that names code outside of the harness, as `field: name`.

    These are checks, metrics and detectors that are not built in, from a file, a module or an installed package;
    functions in parameters of checks; and servers that are programs or Python files.
    """
    return tuple(dict.fromkeys(_named(suite)))


def _named(suite: Suite) -> Iterator[str]:
    for check in (*suite.checks, *(check for case in suite.cases for check in case.checks)):
        if check.verifier not in VERIFIERS:
            yield f"check {check.name!r}: {check.verifier}"
        if check.parameters.get("function") is not None:
            yield f"check {check.name!r}: {check.parameters['function']}"
    for field in ("metrics", "run_metrics"):
        yield from (f"{field}: {name}" for name in getattr(suite, field) if name not in METRICS)
    yield from (f"detectors: {name}" for name in suite.detectors)
    for name, server in suite.servers.items():
        if server.is_program or server.tool_source is not None:
            yield f"server {name!r}"
