"""Counterfactuals: what would have happened otherwise. Trials are forked, causes found by intervention, suites tested.

The room stands above `pipeline`, because everything in it runs trials, and below `api` and `cli`, which ask it.
"""

from typing import TYPE_CHECKING

from harness.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from harness.counterfactual.attribution import blame as blame
    from harness.counterfactual.attribution import blame_on as blame_on
    from harness.counterfactual.blame_answer import BUDGET as BUDGET
    from harness.counterfactual.blame_answer import Blame as Blame
    from harness.counterfactual.blame_answer import BlamedCause as BlamedCause
    from harness.counterfactual.blame_answer import BlameRequest as BlameRequest
    from harness.counterfactual.campaign import CampaignReport as CampaignReport
    from harness.counterfactual.campaign import run_campaign as run_campaign
    from harness.counterfactual.delta import smallest as smallest
    from harness.counterfactual.forking import ForkChange as ForkChange
    from harness.counterfactual.forking import ForkRequest as ForkRequest
    from harness.counterfactual.forking import ForkResult as ForkResult
    from harness.counterfactual.forking import fork as fork
    from harness.counterfactual.forking import variant_at as variant_at
    from harness.counterfactual.mutant import OPERATORS as OPERATORS
    from harness.counterfactual.mutant import Mutant as Mutant
    from harness.counterfactual.mutant import Mutating as Mutating
    from harness.counterfactual.mutant import pool_of as pool_of
    from harness.counterfactual.mutating import mutants as mutants
    from harness.counterfactual.mutation import MOST as MOST
    from harness.counterfactual.mutation import MutationCount as MutationCount
    from harness.counterfactual.mutation import MutationReport as MutationReport
    from harness.counterfactual.mutation import mutate as mutate
    from harness.counterfactual.refusals import forkable as forkable
    from harness.counterfactual.subject import StoredSubject as StoredSubject
    from harness.counterfactual.subject import open_subject as open_subject
    from harness.counterfactual.subject import open_subject_of as open_subject_of
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "attribution": ("blame", "blame_on"),
            "blame_answer": ("BUDGET", "Blame", "BlameRequest", "BlamedCause"),
            "campaign": ("CampaignReport", "run_campaign"),
            "delta": ("smallest",),
            "forking": ("ForkChange", "ForkRequest", "ForkResult", "fork", "variant_at"),
            "mutant": ("OPERATORS", "Mutant", "Mutating", "pool_of"),
            "mutating": ("mutants",),
            "mutation": ("MOST", "MutationCount", "MutationReport", "mutate"),
            "refusals": ("forkable",),
            "subject": ("StoredSubject", "open_subject", "open_subject_of"),
        },
    )
