"""Which guarantees of sandboxes hold on this machine."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from harness.errors import EngineUnavailable, HarnessError, ImageError
from harness.sandbox.conformance import run_conformance
from harness.sandbox.engine import connect
from harness.sandbox.environment import BASE_IMAGE
from harness.sandbox.images.store import ImageStore
from harness.sandbox.providers import isolates, open_provider
from harness.values import Frozen


class SelfTestResult(Frozen):
    """One sandbox on this machine."""

    sandbox: str
    state: Literal["works", "fails", "absent"]
    """`absent`: the machine lacks what the sandbox needs, and nothing was tried."""
    text: str
    problems: tuple[str, ...] = ()
    """Each guarantee that does not hold, with what was seen."""
    remedy: str | None = None
    seconds: float = 0.0


def self_test(
    folder: Path, sandboxes: Sequence[str], say: Callable[[str], None] = lambda _: None
) -> Iterator[SelfTestResult]:
    """Tries one sandbox after the other; `folder` is empty and gets the files, `say` the name of what is tried now.

    Raises UsageError for an unknown sandbox before anything is tried.
    """
    isolating = {sandbox: isolates(sandbox) for sandbox in sandboxes}
    for sandbox, isolated in isolating.items():
        image = None
        if isolated:
            try:
                image = _base_image(folder)
            except (EngineUnavailable, ImageError) as missing:
                yield SelfTestResult(sandbox=sandbox, state="absent", text=missing.message, remedy=missing.remedy)
                continue
        say(f"trying sandbox {sandbox}")
        began = time.monotonic()
        try:
            found = _tried(sandbox, image, folder / sandbox)
        except HarnessError as error:
            found = SelfTestResult(sandbox=sandbox, state="fails", text=error.message, remedy=error.remedy)
        yield found.model_copy(update={"seconds": round(time.monotonic() - began, 1)})


def _base_image(project: Path) -> str:
    client = connect()
    try:
        return ImageStore(project, client).tag(BASE_IMAGE)
    finally:
        client.close()


def _tried(sandbox: str, image: str | None, folder: Path) -> SelfTestResult:
    provider = open_provider(sandbox, run="self-test")
    try:
        found = run_conformance(provider, image, folder)
    finally:
        provider.close()
    failed = tuple(f"{name}: {problem}" for name, problem in found.items() if problem is not None)
    if failed:
        text = f"{len(failed)} of {len(found)} guarantees do not hold"
        return SelfTestResult(sandbox=sandbox, state="fails", text=text, problems=failed)
    text = f"{len(found)} guarantees hold" + ("" if provider.isolates else "; it does not isolate")
    return SelfTestResult(sandbox=sandbox, state="works", text=text)
