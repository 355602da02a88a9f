"""The state that a case's reference calls leave: what the verifier `reference_state` compares a trial's end state with.

It is obtained before the trials of a run, stored with the run, and read back by every later scoring.
"""

from harness.case import Case, StateProbe, Suite
from harness.trace import EndState
from harness.values import Frozen, JsonValue, digest_of


class ReferenceState(Frozen):
    """What the probes read, and which files had changed, after the reference calls of a case."""

    case_id: str
    asked_digest: str
    """Of the reference calls and of all that the suite and the case declare about the state; see `asked_digest`."""
    digest: str
    """Of all that decides the state: the above, the snapshot, the images of sandbox and services, the harness."""
    probes: tuple[StateProbe, ...] = ()
    """The probes of suite and case, as they were read."""
    states: dict[str, JsonValue] = {}
    """Probe name -> what it read."""
    end_state: EndState | None = None
    """The changed files; None: none were read back."""


def is_state_of(state: ReferenceState, suite: Suite, case: Case) -> bool:
    """Whether a state that was read back is of this case as it is declared now, with all of its probes."""
    probes = (*suite.probes, *case.probes)
    return (state.case_id, state.asked_digest, state.probes) == (case.id, asked_digest(suite, case), probes)


def asked_digest(suite: Suite, case: Case) -> str:
    """Sha-256 over what a suite and a case declare that decides the state. Checks, descriptions and limits do not.

    Fields that have their default are left out, so that a later version with more fields gives the same digest.
    """
    return digest_of(
        {
            "case": case.id,
            "reference": [_declared(call, "after") for call in case.reference or ()],
            "allowed": case.tools,
            "forbidden": case.forbidden_tools,
            "clock": case.clock,
            "packs": [_declared(suite.packs[name]) for name in case.fixtures if name in suite.packs],
            "probes": [_declared(probe) for probe in (*suite.probes, *case.probes)],
            "tools": [_declared(tool, "description") for tool in suite.tools],
            "servers": {name: _declared(server) for name, server in suite.servers.items()},
            "hosts": [_declared(host) for host in suite.hosts],
            "snapshot": [suite.environment, case.snapshot or suite.snapshot],
        }
    )


def _declared(value: Frozen, *left_out: str) -> JsonValue:
    found: JsonValue = value.model_dump(mode="json", exclude_defaults=True, exclude={*left_out})
    return found
