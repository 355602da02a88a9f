"""The values of a suite's secrets, taken from the environment and known only to the gateway."""

import os

from harness.case import Suite


def secret_values(suite: Suite) -> dict[str, str]:
    """Name -> value of the secrets that are set in the environment."""
    return {name: os.environ[name] for name in suite.secrets if os.environ.get(name)}
