"""Counterfactuals: what would have happened otherwise. Trials are forked, causes found by intervention, suites tested.

The room stands above `pipeline`, because everything in it runs trials, and below `api` and `cli`, which ask it.
"""

from typing import TYPE_CHECKING

from harness.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from harness.counterfactual.alignment import Deviation as Deviation
    from harness.counterfactual.alignment import deviations_from_trial as deviations_from_trial
    from harness.counterfactual.attribution import BUDGET as BUDGET
    from harness.counterfactual.attribution import Blame as Blame
    from harness.counterfactual.attribution import BlameRequest as BlameRequest
    from harness.counterfactual.attribution import Cause as Cause
    from harness.counterfactual.attribution import blame as blame
    from harness.counterfactual.attribution import blame_on as blame_on
    from harness.counterfactual.campaign import CampaignReport as CampaignReport
    from harness.counterfactual.campaign import run_campaign as run_campaign
    from harness.counterfactual.coverage import CoverageReport as CoverageReport
    from harness.counterfactual.coverage import coverage_of as coverage_of
    from harness.counterfactual.delta import smallest as smallest
    from harness.counterfactual.forking import ForkChange as ForkChange
    from harness.counterfactual.forking import ForkRequest as ForkRequest
    from harness.counterfactual.forking import ForkResult as ForkResult
    from harness.counterfactual.forking import fork as fork
    from harness.counterfactual.forking import variant_at as variant_at
    from harness.counterfactual.minimising import MinimalCase as MinimalCase
    from harness.counterfactual.minimising import MinimiseRequest as MinimiseRequest
    from harness.counterfactual.minimising import minimise as minimise
    from harness.counterfactual.mutating import OPERATORS as OPERATORS
    from harness.counterfactual.mutating import Mutant as Mutant
    from harness.counterfactual.mutating import Mutating as Mutating
    from harness.counterfactual.mutating import mutants as mutants
    from harness.counterfactual.mutating import pool_of as pool_of
    from harness.counterfactual.mutation import MOST as MOST
    from harness.counterfactual.mutation import MutationCount as MutationCount
    from harness.counterfactual.mutation import MutationReport as MutationReport
    from harness.counterfactual.mutation import mutate as mutate
    from harness.counterfactual.reference_match import deviations_from_reference as deviations_from_reference
    from harness.counterfactual.subject import Subject as Subject
    from harness.counterfactual.subject import fed_calls as fed_calls
    from harness.counterfactual.subject import forkable as forkable
    from harness.counterfactual.subject import open_subject as open_subject
    from harness.counterfactual.subject import open_subject_of as open_subject_of
    from harness.counterfactual.subject import step_of_call as step_of_call
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "alignment": ("Deviation", "deviations_from_trial"),
            "attribution": ("BUDGET", "Blame", "BlameRequest", "Cause", "blame", "blame_on"),
            "campaign": ("CampaignReport", "run_campaign"),
            "coverage": ("CoverageReport", "coverage_of"),
            "delta": ("smallest",),
            "forking": ("ForkChange", "ForkRequest", "ForkResult", "fork", "variant_at"),
            "minimising": ("MinimalCase", "MinimiseRequest", "minimise"),
            "mutating": ("OPERATORS", "Mutant", "Mutating", "mutants", "pool_of"),
            "mutation": ("MOST", "MutationCount", "MutationReport", "mutate"),
            "reference_match": ("deviations_from_reference",),
            "subject": ("Subject", "fed_calls", "forkable", "open_subject", "open_subject_of", "step_of_call"),
        },
    )
