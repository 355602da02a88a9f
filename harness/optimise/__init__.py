"""Prompt optimisation: better texts of an agent are searched for, and accepted only where held-out cases confirm them.

The room stands above `pipeline`, because its rollouts are trials, and beside `counterfactual`.
"""

from typing import TYPE_CHECKING

from harness.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from harness.optimise.acceptance import AcceptanceRules as AcceptanceRules
    from harness.optimise.acceptance import HeldOut as HeldOut
    from harness.optimise.acceptance import ValidationChoice as ValidationChoice
    from harness.optimise.candidates.candidate import Candidate as Candidate
    from harness.optimise.candidates.candidate import candidate_of as candidate_of
    from harness.optimise.candidates.candidate import read_candidate as read_candidate
    from harness.optimise.candidates.components import Component as Component
    from harness.optimise.candidates.components import agent_folder as agent_folder
    from harness.optimise.candidates.components import agent_of as agent_of
    from harness.optimise.candidates.components import components_of as components_of
    from harness.optimise.candidates.components import texts_of as texts_of
    from harness.optimise.looks import HeldOutUse as HeldOutUse
    from harness.optimise.looks import earlier_looks as earlier_looks
    from harness.optimise.looks import looks_path as looks_path
    from harness.optimise.opening import PreparedOptimisation as PreparedOptimisation
    from harness.optimise.opening import prepare_optimisation as prepare_optimisation
    from harness.optimise.opening import said_in as said_in
    from harness.optimise.optimisation import Optimisation as Optimisation
    from harness.optimise.outcome import CurvePoint as CurvePoint
    from harness.optimise.outcome import OptimisationOutcome as OptimisationOutcome
    from harness.optimise.outcome import OptimiserResult as OptimiserResult
    from harness.optimise.page import optimisation_page as optimisation_page
    from harness.optimise.promoting import Promotion as Promotion
    from harness.optimise.promoting import promote as promote
    from harness.optimise.resolving import OptimiseRequest as OptimiseRequest
    from harness.optimise.rollouts.invocation_trials import InvocationTrials as InvocationTrials
    from harness.optimise.rollouts.invocation_trials import alone as alone
    from harness.optimise.rollouts.invocation_trials import joined_verdict as joined_verdict
    from harness.optimise.rollouts.invocation_trials import micro_rubric as micro_rubric
    from harness.optimise.rollouts.invocation_trials import open_invocation_trials as open_invocation_trials
    from harness.optimise.rollouts.invocations import AgentInvocation as AgentInvocation
    from harness.optimise.rollouts.invocations import invocations_by_case as invocations_by_case
    from harness.optimise.rollouts.invocations import invocations_of as invocations_of
    from harness.optimise.rollouts.mean_use import MeanUse as MeanUse
    from harness.optimise.rollouts.rollout import Rollout as Rollout
    from harness.optimise.rollouts.rollout import Rollouts as Rollouts
    from harness.optimise.rollouts.ruled_rollouts import PromptRule as PromptRule
    from harness.optimise.rollouts.ruled_rollouts import RuledRollouts as RuledRollouts
    from harness.optimise.rollouts.spending import CostEstimate as CostEstimate
    from harness.optimise.rollouts.spending import SearchBudget as SearchBudget
    from harness.optimise.rollouts.spending import SpendingMeter as SpendingMeter
    from harness.optimise.rollouts.trial_verdict import TrialJudge as TrialJudge
    from harness.optimise.rollouts.trial_verdict import TrialVerdict as TrialVerdict
    from harness.optimise.rollouts.trial_verdict import open_judge as open_judge
    from harness.optimise.rollouts.whole_trials import WholeTrials as WholeTrials
    from harness.optimise.rollouts.whole_trials import open_whole_trials as open_whole_trials
    from harness.optimise.rollouts.whole_trials import rollout_of as rollout_of
    from harness.optimise.searching.lineage import CandidateRecord as CandidateRecord
    from harness.optimise.searching.lineage import read_records as read_records
    from harness.optimise.searching.objective import WeightedObjective as WeightedObjective
    from harness.optimise.searching.optimisers import OPTIMISERS as OPTIMISERS
    from harness.optimise.searching.optimisers import optimisers_of as optimisers_of
    from harness.optimise.searching.reflector import ReflectionRequest as ReflectionRequest
    from harness.optimise.searching.reflector import proposed_text as proposed_text
    from harness.optimise.searching.rule_reflector import EditRule as EditRule
    from harness.optimise.searching.rule_reflector import EditRules as EditRules
    from harness.optimise.searching.rule_reflector import RuleReflector as RuleReflector
    from harness.optimise.searching.rule_reflector import read_rule_book as read_rule_book
    from harness.optimise.searching.search import Optimiser as Optimiser
    from harness.optimise.searching.search import Search as Search
    from harness.optimise.searching.search import SearchOver as SearchOver
    from harness.optimise.searching.search import Vetoes as Vetoes
    from harness.optimise.searching.splitting import split_cases as split_cases
    from harness.optimise.settings import OptimisationSettings as OptimisationSettings
    from harness.optimise.stored import AskedOptimisation as AskedOptimisation
    from harness.optimise.stored import StoredOptimisation as StoredOptimisation
    from harness.optimise.tree import curve_lines as curve_lines
    from harness.optimise.tree import diff_lines as diff_lines
    from harness.optimise.tree import result_lines as result_lines
    from harness.optimise.tree import tree_lines as tree_lines
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "acceptance": ("HeldOut", "ValidationChoice", "AcceptanceRules"),
            "candidates.candidate": ("Candidate", "candidate_of", "read_candidate"),
            "candidates.components": ("Component", "agent_folder", "agent_of", "components_of", "texts_of"),
            "rollouts.invocation_trials": (
                "InvocationTrials",
                "alone",
                "joined_verdict",
                "micro_rubric",
                "open_invocation_trials",
            ),
            "rollouts.invocations": ("AgentInvocation", "invocations_by_case", "invocations_of"),
            "searching.lineage": ("CandidateRecord", "read_records"),
            "looks": ("HeldOutUse", "earlier_looks", "looks_path"),
            "searching.objective": ("WeightedObjective",),
            "opening": ("PreparedOptimisation", "prepare_optimisation", "said_in"),
            "page": ("optimisation_page",),
            "promoting": ("Promotion", "promote"),
            "stored": ("AskedOptimisation", "StoredOptimisation"),
            "tree": ("curve_lines", "diff_lines", "result_lines", "tree_lines"),
            "optimisation": ("Optimisation",),
            "settings": ("OptimisationSettings",),
            "searching.optimisers": ("OPTIMISERS", "optimisers_of"),
            "outcome": ("CurvePoint", "OptimisationOutcome", "OptimiserResult"),
            "searching.reflector": ("ReflectionRequest", "proposed_text"),
            "resolving": ("OptimiseRequest",),
            "rollouts.mean_use": ("MeanUse",),
            "rollouts.rollout": ("Rollout", "Rollouts"),
            "searching.rule_reflector": (
                "EditRule",
                "EditRules",
                "RuleReflector",
                "read_rule_book",
            ),
            "rollouts.ruled_rollouts": ("PromptRule", "RuledRollouts"),
            "rollouts.trial_verdict": ("TrialJudge", "TrialVerdict", "open_judge"),
            "searching.search": ("Optimiser", "Search", "SearchOver", "Vetoes"),
            "rollouts.spending": ("CostEstimate", "SearchBudget", "SpendingMeter"),
            "searching.splitting": ("split_cases",),
            "rollouts.whole_trials": ("WholeTrials", "open_whole_trials", "rollout_of"),
        },
    )
