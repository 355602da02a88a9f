"""Compares live answers with recorded ones: what changed in the tools, and how certain the change is."""

from typing import TYPE_CHECKING

from harness.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from harness.drift.after_writes import AfterWrites as AfterWrites
    from harness.drift.chains import plan_replays as plan_replays
    from harness.drift.comparing.profile import ToolProfile as ToolProfile
    from harness.drift.comparing.profile import learned_volatile as learned_volatile
    from harness.drift.comparing.profile import read_profile as read_profile
    from harness.drift.comparing.profile import write_profile as write_profile
    from harness.drift.comparing.words import not_asked_lines as not_asked_lines
    from harness.drift.comparing.words import profile_lines as profile_lines
    from harness.drift.comparing.words import report_lines as report_lines
    from harness.drift.fresh import fresh_answers as fresh_answers
    from harness.drift.learning import ProbeSession as ProbeSession
    from harness.drift.learning import learned as learned
    from harness.drift.observations import CallObservations as CallObservations
    from harness.drift.observations import exercised_by as exercised_by
    from harness.drift.observations import findings_of as findings_of
    from harness.drift.observations import in_order as in_order
    from harness.drift.observations import unavailable_in as unavailable_in
    from harness.drift.operation_index import OperationIndex as OperationIndex
    from harness.drift.operation_index import open_operation_index as open_operation_index
    from harness.drift.pairing import pair as pair
    from harness.drift.probe import Probed as Probed
    from harness.drift.probe import confirm as confirm
    from harness.drift.prober import Prober as Prober
    from harness.drift.prober import open_prober as open_prober
    from harness.drift.replayable_reads import ReplayableRead as ReplayableRead
    from harness.drift.replayable_reads import find_replayable_reads as find_replayable_reads
    from harness.drift.replayable_reads import is_at_start as is_at_start
    from harness.drift.slower import slower_findings as slower_findings
    from harness.drift.surface import ServerSurface as ServerSurface
    from harness.drift.surface import ToolSurface as ToolSurface
    from harness.drift.surface import exercised_surfaces as exercised_surfaces
    from harness.drift.surface import surface_findings as surface_findings
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "after_writes": ("AfterWrites",),
            "chains": ("plan_replays",),
            "fresh": ("fresh_answers",),
            "learning": ("ProbeSession", "learned"),
            "observations": ("CallObservations", "exercised_by", "findings_of", "in_order", "unavailable_in"),
            "operation_index": ("OperationIndex", "open_operation_index"),
            "pairing": ("pair",),
            "probe": ("Probed", "confirm"),
            "prober": ("Prober", "open_prober"),
            "comparing.profile": ("ToolProfile", "learned_volatile", "read_profile", "write_profile"),
            "replayable_reads": ("ReplayableRead", "find_replayable_reads", "is_at_start"),
            "slower": ("slower_findings",),
            "surface": ("ServerSurface", "ToolSurface", "exercised_surfaces", "surface_findings"),
            "comparing.words": ("not_asked_lines", "profile_lines", "report_lines"),
        },
    )
