"""Who answers a suite's calls: the service itself, or a double that the suite declares (`double: true`)."""

import json
from typing import Literal

from harness.values import Frozen

Provenance = Literal["service", "double", "trajectory", "hand"]
"""The source of an answer.

`service`: the server, host, database or model itself. `double`: a replacement for one, which the suite declares.
`trajectory`: an imported trajectory. `hand`: a person wrote or changed it.
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
        """The provenance of a current answer; None where the trial's own sandbox or browser answers.

        `arguments` is the call's canonical JSON: that of a probe contains its request.
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
