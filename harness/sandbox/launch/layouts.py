"""The layouts of a provider's sandboxes, computed once for each of the latest snapshots."""

import threading
from collections import deque

from harness.sandbox.launch.instant import instant_ns
from harness.sandbox.launch.layout import Layout
from harness.sandbox.provider import SandboxSpec
from harness.sandbox.state.endstate import open_end_state
from harness.sandbox.state.snapshot import Snapshot

_LAYOUTS_MAX = 8


class Layouts:
    """The layouts for the sandboxes of one provider; safe to use from many threads."""

    def __init__(self) -> None:
        self._latest: deque[tuple[Snapshot, Layout]] = deque(maxlen=_LAYOUTS_MAX)
        self._lock = threading.Lock()

    def of(self, spec: SandboxSpec, snapshot: Snapshot) -> Layout:
        """Raises SnapshotError or SandboxError, also for an invalid clock."""
        if spec.clock is not None:
            instant_ns(spec.clock)
        if spec.end_state_from is not None:
            with open_end_state(spec.end_state_from) as over:
                return Layout(snapshot, over, inspects=spec.inspects, own_home=spec.own_home)
        with self._lock:
            for known, layout in self._latest:
                if known is snapshot:
                    return layout
            layout = Layout(snapshot)
            self._latest.append((snapshot, layout))
        return layout
