"""The declared hosts that a case may reach."""

from harness.case import Case, Suite


def allowed_hosts(suite: Suite, case: Case) -> frozenset[str]:
    """A case that lists allowed tools lists its hosts there, too; a forbidden host can be reached, because the request
    is scored.
    """
    declared = frozenset(host.tool for host in suite.hosts)
    return declared if case.tools is None else declared & {*case.tools, *case.forbidden_tools}
