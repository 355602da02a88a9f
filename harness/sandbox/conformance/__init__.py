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
from inspect import isfunction
from pathlib import Path

from harness.errors import HarnessError
from harness.sandbox.conformance import files, isolation, programs
from harness.sandbox.conformance.provider_fixture import Check, ProviderFixture, ProviderNotConforming
from harness.sandbox.provider import SandboxProvider

__all__ = ["Check", "ProviderFixture", "ProviderNotConforming", "checks", "run_conformance"]


def checks(*, isolates: bool = True) -> tuple[Check, ...]:
    """The checks of a provider, in a fixed order; fewer for one that does not isolate.

    Each public function of the three modules is a check; those of `isolation` are for sandboxes that isolate.
    """
    return tuple(
        Check(name=name, run=run, needs_isolation=module is isolation)
        for module in ((programs, files, isolation) if isolates else (programs, files))
        for name, run in vars(module).items()
        if isfunction(run) and run.__module__ == module.__name__ and not name.startswith("_")
    )


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
