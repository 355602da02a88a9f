"""Use cases that combine the rooms, such as running a suite. Start reading at `run.py`."""

from typing import TYPE_CHECKING

from harness.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from harness.pipeline.affected import WatchedSuite as WatchedSuite
    from harness.pipeline.affected import affected_cases as affected_cases
    from harness.pipeline.affected import watch_of as watch_of
    from harness.pipeline.affected import watched_suite as watched_suite
    from harness.pipeline.cases.case_check import CaseFinding as CaseFinding
    from harness.pipeline.cases.case_check import check_cases as check_cases
    from harness.pipeline.cases.data_set import cases_of_rows as cases_of_rows
    from harness.pipeline.cases.data_set import cases_of_tasks as cases_of_tasks
    from harness.pipeline.cases.data_set import write_cases as write_cases
    from harness.pipeline.cases.from_trace import AddedCase as AddedCase
    from harness.pipeline.cases.from_trace import Request as Request
    from harness.pipeline.cases.from_trace import add_case as add_case
    from harness.pipeline.cases.from_trace import add_new_case as add_new_case
    from harness.pipeline.cases.from_trace import case_from_trace as case_from_trace
    from harness.pipeline.cases.from_trace import recordings_of as recordings_of
    from harness.pipeline.cases.from_trace import trial_recordings as trial_recordings
    from harness.pipeline.cases.proving import passing_attempts as passing_attempts
    from harness.pipeline.cases.session_case import SessionDraft as SessionDraft
    from harness.pipeline.cases.session_case import draft_session_case as draft_session_case
    from harness.pipeline.cases.session_case import store_session_case as store_session_case
    from harness.pipeline.command.recording import RecordedCommand as RecordedCommand
    from harness.pipeline.command.recording import proposed_suite as proposed_suite
    from harness.pipeline.command.recording import record_command as record_command
    from harness.pipeline.command.request import CommandRequest as CommandRequest
    from harness.pipeline.command.working_folder import FolderChoice as FolderChoice
    from harness.pipeline.determinism import StepDivergence as StepDivergence
    from harness.pipeline.determinism import changed_by_agent as changed_by_agent
    from harness.pipeline.determinism import divergences as divergences
    from harness.pipeline.determinism import prefix_difference as prefix_difference
    from harness.pipeline.drift.check import DriftPlan as DriftPlan
    from harness.pipeline.drift.check import DriftResult as DriftResult
    from harness.pipeline.drift.check import compare_run as compare_run
    from harness.pipeline.drift.check import learn_suite as learn_suite
    from harness.pipeline.drift.check import probe_suite as probe_suite
    from harness.pipeline.drift.flips import FlipPlan as FlipPlan
    from harness.pipeline.drift.listings import refresh_tools as refresh_tools
    from harness.pipeline.drift.refreshing import RefreshPlan as RefreshPlan
    from harness.pipeline.drift.refreshing import refreshed as refreshed
    from harness.pipeline.execution.attempt import Ended as Ended
    from harness.pipeline.execution.executor import Executor as Executor
    from harness.pipeline.execution.executor import Job as Job
    from harness.pipeline.execution.executors import EXECUTORS as EXECUTORS
    from harness.pipeline.execution.local import open_local as open_local
    from harness.pipeline.execution.preflight import check_reachable as check_reachable
    from harness.pipeline.file_watch import FileWatch as FileWatch
    from harness.pipeline.file_watch import different as different
    from harness.pipeline.importing import store_imported as store_imported
    from harness.pipeline.judge.bench import Bench as Bench
    from harness.pipeline.judge.bench import Runs as Runs
    from harness.pipeline.judge.calibrating import Calibrating as Calibrating
    from harness.pipeline.judge.calibrating import calibrate_judge as calibrate_judge
    from harness.pipeline.judge.candidates import SavedCandidate as SavedCandidate
    from harness.pipeline.judge.candidates import save_candidate as save_candidate
    from harness.pipeline.judge.judging import Judged as Judged
    from harness.pipeline.judge.judging import JudgeRequest as JudgeRequest
    from harness.pipeline.judge.judging import agents_models as agents_models
    from harness.pipeline.judge.judging import judge_run as judge_run
    from harness.pipeline.judge.judging import secrets_of as secrets_of
    from harness.pipeline.judge.pairing import Paired as Paired
    from harness.pipeline.judge.pairing import PairRequest as PairRequest
    from harness.pipeline.judge.pairing import compare_pairs as compare_pairs
    from harness.pipeline.judge.subjects import judged_outcomes as judged_outcomes
    from harness.pipeline.judge.subjects import suite_of as suite_of
    from harness.pipeline.judge.trying import TryEstimate as TryEstimate
    from harness.pipeline.judge.trying import TryRequest as TryRequest
    from harness.pipeline.judge.trying import TryResult as TryResult
    from harness.pipeline.judge.trying import estimate_try as estimate_try
    from harness.pipeline.judge.trying import model_decided as model_decided
    from harness.pipeline.judge.trying import try_criterion as try_criterion
    from harness.pipeline.matrix import BegunMatrix as BegunMatrix
    from harness.pipeline.matrix import begin_matrix as begin_matrix
    from harness.pipeline.matrix import is_matrix as is_matrix
    from harness.pipeline.matrix import resume_matrix as resume_matrix
    from harness.pipeline.merge import merge_shards as merge_shards
    from harness.pipeline.plan.plan import ExecutorName as ExecutorName
    from harness.pipeline.plan.plan import RunPlan as RunPlan
    from harness.pipeline.plan.plan import Selection as Selection
    from harness.pipeline.plan.plan import planned_trials as planned_trials
    from harness.pipeline.plan.planning import plan_of as plan_of
    from harness.pipeline.plan.prompts import with_prompts as with_prompts
    from harness.pipeline.plan.run_options import RunOptions as RunOptions
    from harness.pipeline.plan.secrets import secret_values as secret_values
    from harness.pipeline.plan.users import users_for_manifest as users_for_manifest
    from harness.pipeline.plan.variables import combinations as combinations
    from harness.pipeline.plan.variables import varied as varied
    from harness.pipeline.reference import reference_page as reference_page
    from harness.pipeline.run import Watch as Watch
    from harness.pipeline.run import run_plan as run_plan
    from harness.pipeline.schemas import KINDS_OF_DOCUMENT as KINDS_OF_DOCUMENT
    from harness.pipeline.schemas import published_schema as published_schema
    from harness.pipeline.self_testing import SelfTestResult as SelfTestResult
    from harness.pipeline.self_testing import self_test as self_test
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
            "execution.preflight": ("check_reachable",),
            "affected": ("WatchedSuite", "affected_cases", "watch_of", "watched_suite"),
            "file_watch": ("FileWatch", "different"),
            "plan.planning": ("plan_of",),
            "plan.users": ("users_for_manifest",),
            "plan.run_options": ("RunOptions",),
            "cases.session_case": ("SessionDraft", "draft_session_case", "store_session_case"),
            "execution.local": ("open_local",),
            "execution.executor": (
                "Job",
                "Executor",
            ),
            "execution.attempt": ("Ended",),
            "execution.executors": ("EXECUTORS",),
            "judge.bench": ("Bench", "Runs"),
            "judge.calibrating": ("Calibrating", "calibrate_judge"),
            "cases.case_check": ("CaseFinding", "check_cases"),
            "command.recording": ("RecordedCommand", "proposed_suite", "record_command"),
            "command.request": ("CommandRequest",),
            "command.working_folder": ("FolderChoice",),
            "determinism": ("StepDivergence", "changed_by_agent", "divergences", "prefix_difference"),
            "drift.check": ("DriftPlan", "DriftResult", "compare_run", "learn_suite", "probe_suite"),
            "drift.flips": ("FlipPlan",),
            "cases.data_set": ("cases_of_rows", "cases_of_tasks", "write_cases"),
            "cases.from_trace": (
                "AddedCase",
                "Request",
                "add_case",
                "add_new_case",
                "case_from_trace",
                "recordings_of",
                "trial_recordings",
            ),
            "importing": ("store_imported",),
            "judge.candidates": ("SavedCandidate", "save_candidate"),
            "judge.trying": (
                "TryResult",
                "TryEstimate",
                "TryRequest",
                "estimate_try",
                "model_decided",
                "try_criterion",
            ),
            "judge.judging": ("JudgeRequest", "Judged", "agents_models", "judge_run", "secrets_of"),
            "matrix": ("BegunMatrix", "begin_matrix", "is_matrix", "resume_matrix"),
            "merge": ("merge_shards",),
            "judge.pairing": ("PairRequest", "Paired", "compare_pairs"),
            "plan.plan": ("ExecutorName", "RunPlan", "Selection", "planned_trials"),
            "cases.proving": ("passing_attempts",),
            "reference": ("reference_page",),
            "drift.refreshing": ("RefreshPlan", "refreshed"),
            "run": ("Watch", "run_plan"),
            "self_testing": ("SelfTestResult", "self_test"),
            "schemas": ("KINDS_OF_DOCUMENT", "published_schema"),
            "plan.prompts": ("with_prompts",),
            "plan.secrets": ("secret_values",),
            "plan.variables": ("combinations", "varied"),
            "judge.subjects": ("judged_outcomes", "suite_of"),
            "drift.listings": ("refresh_tools",),
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
