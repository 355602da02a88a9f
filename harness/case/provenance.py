"""Who answers a suite's calls: the service itself, or a double that the suite declares (`double: true`)."""

import json
from typing import Literal

from harness.values import Frozen

Provenance = Literal["service", "double", "trajectory", "hand"]
"""Where an answer was taken from.

`service`: the server, host, database or model itself gave it. `double`: a stand-in for one, which the suite declares.
`trajectory`: a trajectory that was imported tells of it. `hand`: somebody wrote or changed it.
"""

CalledKind = Literal["tool", "model", "http", "probe"]


class Doubles(Frozen):
    """The doubles of one suite."""

    servers: frozenset[str] = frozenset()
    """Tool servers by name, and hosts as `http:<host>`."""
    services: frozenset[str] = frozenset()
    """Services of the environment that one of them is."""
    model: bool = False
    own: frozenset[str] = frozenset()
    """Servers that are the trial's own sandbox and browser."""

    def provenance(self, kind: CalledKind, server: str, arguments: str) -> Provenance | None:
        """Of an answer that is given now; None: it is the trial's own.

        `arguments` is the call's canonical JSON: a probe's says what it asks.
        """
        if server in self.own:
            return None
        match kind:
            case "model":
                double = self.model
            case "probe":
                asked = json.loads(arguments)
                double = asked.get("server") in self.servers or asked.get("service") in self.services
            case _:
                double = server in self.servers
        return "double" if double else "service"
