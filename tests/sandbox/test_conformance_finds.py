"""The conformance suite is of use only if it finds out a provider that does not keep its promises."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from harness.errors import SandboxError
from harness.sandbox.conformance import checks, run_conformance
from harness.sandbox.local import LocalSandboxProvider
from harness.sandbox.provider import Sandbox, SandboxPaths, SandboxSpec
from harness.sandbox.snapshot import Snapshot
from harness.traces.trial import EndState, ProgramExit


class Careless:
    """A sandbox that looks right: it leaks its variables, cuts output silently, and reports no change."""

    def __init__(self, inner: Sandbox) -> None:
        self._inner = inner

    @property
    def places(self) -> SandboxPaths:
        return self._inner.places

    def exec(self, command: Sequence[str], env: Mapping[str, str], timeout_s: float) -> ProgramExit:
        ended = self._inner.exec(command, {**env, "LEAKED": "1"}, timeout_s)
        return ended.model_copy(update={"stdout_bytes": len(ended.stdout)})

    def expire(self) -> None:
        self._inner.expire()

    def read_file(self, path: str, max_bytes: int = 1_048_576) -> bytes:
        return self._inner.read_file(path)

    def write_file(self, path: str, content: bytes) -> None:
        self._inner.write_file(path, content)

    def end_state(self, archive: Path) -> EndState:
        self._inner.end_state(archive)
        return EndState()

    def close(self) -> None:
        self._inner.close()


class CarelessProvider(LocalSandboxProvider):
    def start(self, spec: SandboxSpec, snapshot: Snapshot) -> Sandbox:
        if snapshot.env:
            raise SandboxError("this one cannot have variables")
        return Careless(super().start(spec, snapshot))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("environment_is_pinned", "ProviderNotConforming: environment"),
        ("output_past_the_cap_is_counted", "ProviderNotConforming: counted"),
        ("reading_has_a_limit", "ProviderNotConforming: past the limit"),
        ("every_change_is_reported_and_nothing_else", "ProviderNotConforming: changes"),
        ("given_environment_wins_over_the_snapshot", "SandboxError: this one cannot have variables"),
    ],
)
def test_broken_promise_is_found(name: str, said: str, tmp_path: Path) -> None:
    provider = CarelessProvider(run="careless")
    try:
        found = run_conformance(provider, None, tmp_path, [check for check in checks() if check.name == name])
    finally:
        provider.close()
    assert str(found[name]).startswith(said)


def test_kept_promise_is_none_and_what_needs_isolation_is_left_out(tmp_path: Path) -> None:
    provider = LocalSandboxProvider(run="careful")
    chosen = [check for check in checks() if check.name in ("signal_is_reported", "there_is_no_network")]
    try:
        assert run_conformance(provider, None, tmp_path, chosen) == {"signal_is_reported": None}
    finally:
        provider.close()
