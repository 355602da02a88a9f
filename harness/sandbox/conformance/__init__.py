"""The conformance checks of the sandbox provider interface, which run against any provider.

For a provider of your own, whether or not it has an entry point in the group `harness.sandbox`:

    @pytest.mark.parametrize("check", checks(isolates=Provider.isolates), ids=lambda check: check.name)
    def test_the_promise_is_kept(check, provider, tmp_path):
        with ProviderFixture(provider, IMAGE, tmp_path) as stand:
            check.run(stand)

or call `run_conformance(provider, IMAGE, folder)` and read the results that are not None. The image needs python3 and
`sh`; the engine has no further requirements. Checks that only an isolating sandbox can pass are marked, and left out
if the provider declares that it does not isolate: such a provider guarantees only the others.
"""

from collections.abc import Iterable
from pathlib import Path

from harness.errors import HarnessError
from harness.sandbox.conformance.files import END_STATE_CHECKS, FILE_CHECKS
from harness.sandbox.conformance.isolation import GATEWAY_CHECKS, ISOLATION_CHECKS
from harness.sandbox.conformance.limits import HOSTILE_CHECKS, LIMIT_CHECKS
from harness.sandbox.conformance.programs import BESIDE_CHECKS, CLOCK_CHECKS, PROGRAM_CHECKS
from harness.sandbox.conformance.provider_fixture import Check, ProviderFixture, ProviderNotConforming
from harness.sandbox.provider import SandboxProvider

__all__ = ["Check", "ProviderFixture", "ProviderNotConforming", "checks", "run_conformance"]


def checks(*, isolates: bool = True) -> tuple[Check, ...]:
    """The checks of a provider, in a fixed order; fewer for one that does not isolate."""
    every = (
        *PROGRAM_CHECKS,
        *BESIDE_CHECKS,
        *FILE_CHECKS,
        *END_STATE_CHECKS,
        *GATEWAY_CHECKS,
        *LIMIT_CHECKS,
        *ISOLATION_CHECKS,
        *HOSTILE_CHECKS,
        *CLOCK_CHECKS,
    )
    return tuple(check for check in every if isolates or not check.needs_isolation)


def run_conformance(
    provider: SandboxProvider, image: str | None, folder: Path, chosen: Iterable[Check] | None = None
) -> dict[str, str | None]:
    """Runs the chosen checks, or all, as far as they apply to the provider; returns check name -> problem, or None.

    `image` is the image of the sandboxes (None: they need none); `folder` is for files of the checks.
    """
    found: dict[str, str | None] = {}
    for check in checks() if chosen is None else chosen:
        if check.needs_isolation and not provider.isolates:
            continue
        with ProviderFixture(provider, image, folder / check.name) as stand:
            try:
                check.run(stand)
            except (ProviderNotConforming, HarnessError, OSError, ValueError) as error:
                found[check.name] = f"{type(error).__name__}: {error}"
            else:
                found[check.name] = None
    return found
