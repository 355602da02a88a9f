"""Rejects runs that a cluster cannot execute, before anything starts."""

from collections.abc import Iterator
from ipaddress import ip_address
from urllib.parse import urlsplit

from harness.errors import UsageError
from harness.pipeline.plan.plan import RunPlan


def is_live(plan: RunPlan) -> bool:
    """Whether a call of the run may reach what all of its machines share."""
    return plan.tools == "live" or plan.model_mode == "live"


def refuse_unshareable(plan: RunPlan) -> None:
    """Raises UsageError for recordings, which the machines would have to write together, for task folders, whose images
    are on this machine, and for addresses of the machine itself, which on another one lead elsewhere.
    """
    planned = {one.case_id for one in plan.own}
    for case in plan.suite.cases:
        if case.task_folder is not None and case.id in planned:
            raise UsageError(
                f"case {case.id!r} is a task folder, which --executor ray does not support",
                remedy="run it on one machine: omit --executor",
            )
    for option, mode in (("--tools", plan.tools), ("--model", plan.model_mode)):
        if mode == "record":
            raise UsageError(
                f"{option} record writes the project's cassettes, which --executor ray does not support",
                remedy="record on one machine: omit --executor",
            )
    for what, address in _addresses(plan):
        if _is_loopback(address):
            raise UsageError(
                f"{what} is reached at {address}, which on every node of the cluster is that node itself",
                remedy="use an address that all nodes can reach",
            )


def _addresses(plan: RunPlan) -> Iterator[tuple[str, str]]:
    suite = plan.suite
    if plan.otlp_endpoint is not None:
        yield "--otlp", plan.otlp_endpoint
    if plan.tools == "live":
        for name, server in suite.reached.items():
            if server.base_url is not None:
                yield f"server {name!r}", server.base_url
    if suite.model is not None and plan.model_mode == "live":
        for provider, model in suite.model.servers.items():
            yield f"the model of {provider!r}", str(model.base_url)


def _is_loopback(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
