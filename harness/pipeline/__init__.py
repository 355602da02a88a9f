"""The corridor: suite in, run folder out. `run.py` is the file to read first."""

from typing import TYPE_CHECKING

from harness.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from harness.pipeline.attempt import Ended as Ended
    from harness.pipeline.bench import Bench as Bench
    from harness.pipeline.bench import Runs as Runs
    from harness.pipeline.bench import spread as spread
    from harness.pipeline.calibrating import Calibrating as Calibrating
    from harness.pipeline.calibrating import calibrate_judge as calibrate_judge
    from harness.pipeline.case_check import CaseFinding as CaseFinding
    from harness.pipeline.case_check import check_cases as check_cases
    from harness.pipeline.conformance import check_executor as check_executor
    from harness.pipeline.determinism import StepDivergence as StepDivergence
    from harness.pipeline.determinism import divergences as divergences
    from harness.pipeline.determinism import prefix_difference as prefix_difference
    from harness.pipeline.drift import DriftPlan as DriftPlan
    from harness.pipeline.drift import DriftResult as DriftResult
    from harness.pipeline.drift import compare_run as compare_run
    from harness.pipeline.drift import learn_suite as learn_suite
    from harness.pipeline.drift import probe_suite as probe_suite
    from harness.pipeline.executor import Executor as Executor
    from harness.pipeline.executor import Job as Job
    from harness.pipeline.executors import EXECUTORS as EXECUTORS
    from harness.pipeline.flips import FlipPlan as FlipPlan
    from harness.pipeline.from_trace import AddedCase as AddedCase
    from harness.pipeline.from_trace import Request as Request
    from harness.pipeline.from_trace import add_case as add_case
    from harness.pipeline.from_trace import case_from_trace as case_from_trace
    from harness.pipeline.from_trace import trial_recordings as trial_recordings
    from harness.pipeline.importing import store_imported as store_imported
    from harness.pipeline.judging import Judged as Judged
    from harness.pipeline.judging import JudgeRequest as JudgeRequest
    from harness.pipeline.judging import agents_models as agents_models
    from harness.pipeline.judging import judge_run as judge_run
    from harness.pipeline.local import open_local as open_local
    from harness.pipeline.merge import merge_shards as merge_shards
    from harness.pipeline.pairing import Paired as Paired
    from harness.pipeline.pairing import PairRequest as PairRequest
    from harness.pipeline.pairing import compare_pairs as compare_pairs
    from harness.pipeline.plan import ExecutorName as ExecutorName
    from harness.pipeline.plan import RunPlan as RunPlan
    from harness.pipeline.plan import Selection as Selection
    from harness.pipeline.plan import planned_trials as planned_trials
    from harness.pipeline.planning import plan_of as plan_of
    from harness.pipeline.proving import passing_attempts as passing_attempts
    from harness.pipeline.redteam import Cost as Cost
    from harness.pipeline.redteam import RedTeamRequest as RedTeamRequest
    from harness.pipeline.redteam import cost_of as cost_of
    from harness.pipeline.redteam import red_team as red_team
    from harness.pipeline.reference import reference_page as reference_page
    from harness.pipeline.refreshing import RefreshPlan as RefreshPlan
    from harness.pipeline.refreshing import refreshed as refreshed
    from harness.pipeline.run import Watch as Watch
    from harness.pipeline.run import run_plan as run_plan
    from harness.pipeline.run_options import RunOptions as RunOptions
    from harness.pipeline.schemas import KINDS_OF_DOCUMENT as KINDS_OF_DOCUMENT
    from harness.pipeline.schemas import published_schema as published_schema
    from harness.pipeline.secrets import secret_values as secret_values
    from harness.pipeline.subjects import suite_of as suite_of
    from harness.pipeline.tools import refresh_tools as refresh_tools
    from harness.pipeline.variants import VARIANTS_FOLDER as VARIANTS_FOLDER
    from harness.pipeline.variants import VariantBench as VariantBench
    from harness.pipeline.variants import VariantRequest as VariantRequest
    from harness.pipeline.variants import VariantResult as VariantResult
    from harness.pipeline.variants import open_variants as open_variants
    from harness.pipeline.variants import variant_tool_mode as variant_tool_mode
    from harness.pipeline.variants import with_cases as with_cases
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "planning": ("plan_of",),
            "run_options": ("RunOptions",),
            "local": ("open_local",),
            "executor": (
                "Job",
                "Executor",
            ),
            "attempt": ("Ended",),
            "executors": ("EXECUTORS",),
            "bench": ("Bench", "Runs", "spread"),
            "calibrating": ("Calibrating", "calibrate_judge"),
            "case_check": ("CaseFinding", "check_cases"),
            "conformance": ("check_executor",),
            "determinism": ("StepDivergence", "divergences", "prefix_difference"),
            "drift": ("DriftPlan", "DriftResult", "compare_run", "learn_suite", "probe_suite"),
            "flips": ("FlipPlan",),
            "from_trace": ("AddedCase", "Request", "add_case", "case_from_trace", "trial_recordings"),
            "importing": ("store_imported",),
            "judging": ("JudgeRequest", "Judged", "agents_models", "judge_run"),
            "merge": ("merge_shards",),
            "pairing": ("PairRequest", "Paired", "compare_pairs"),
            "plan": ("ExecutorName", "RunPlan", "Selection", "planned_trials"),
            "proving": ("passing_attempts",),
            "redteam": ("Cost", "RedTeamRequest", "cost_of", "red_team"),
            "reference": ("reference_page",),
            "refreshing": ("RefreshPlan", "refreshed"),
            "run": ("Watch", "run_plan"),
            "schemas": ("KINDS_OF_DOCUMENT", "published_schema"),
            "secrets": ("secret_values",),
            "subjects": ("suite_of",),
            "tools": ("refresh_tools",),
            "variants": (
                "VARIANTS_FOLDER",
                "VariantBench",
                "VariantRequest",
                "VariantResult",
                "open_variants",
                "variant_tool_mode",
                "with_cases",
            ),
        },
    )
