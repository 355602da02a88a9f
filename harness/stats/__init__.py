"""Statistics: confidence intervals, paired and sequential tests, agreement beyond chance.

All of it is of the standard library; see docs/decisions/statistics.md.
"""

from typing import TYPE_CHECKING

from harness.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from harness.stats.agreement import AgreementRate as AgreementRate
    from harness.stats.agreement import AnswerPair as AnswerPair
    from harness.stats.agreement import BinaryAgreement as BinaryAgreement
    from harness.stats.agreement import binary_agreement as binary_agreement
    from harness.stats.agreement import rate as rate
    from harness.stats.anytime_bounds import confidence_sequence as confidence_sequence
    from harness.stats.bootstrap import bootstrap as bootstrap
    from harness.stats.chance import cohen_kappa as cohen_kappa
    from harness.stats.chance import krippendorff_alpha as krippendorff_alpha
    from harness.stats.chance import position_consistency as position_consistency
    from harness.stats.chance import weighted_kappa as weighted_kappa
    from harness.stats.change_detection import RateAlarm as RateAlarm
    from harness.stats.change_detection import RateDetector as RateDetector
    from harness.stats.change_detection import RateReference as RateReference
    from harness.stats.change_detection import is_over as is_over
    from harness.stats.change_detection import reference_of as reference_of
    from harness.stats.intervals import Interval as Interval
    from harness.stats.intervals import Z as Z
    from harness.stats.intervals import cases_for_margin as cases_for_margin
    from harness.stats.intervals import cases_needed as cases_needed
    from harness.stats.intervals import effective_n as effective_n
    from harness.stats.intervals import effective_n_of_hits as effective_n_of_hits
    from harness.stats.intervals import paired_interval as paired_interval
    from harness.stats.intervals import rounded as rounded
    from harness.stats.intervals import wilson as wilson
    from harness.stats.mean_interval import mean_interval as mean_interval
    from harness.stats.repetition import pass_at_k as pass_at_k
    from harness.stats.repetition import pass_hat_k as pass_hat_k
    from harness.stats.sequential import LEVEL as LEVEL
    from harness.stats.sequential import level_of as level_of
    from harness.stats.sequential import level_of_look as level_of_look
    from harness.stats.significance import fisher_greater as fisher_greater
    from harness.stats.significance import holm as holm
    from harness.stats.significance import sign_test as sign_test
    from harness.stats.significance import sign_test_greater as sign_test_greater
    from harness.stats.variance import VarianceComponents as VarianceComponents
    from harness.stats.variance import noise_margin as noise_margin
    from harness.stats.variance import variance_components as variance_components
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "agreement": ("AgreementRate", "AnswerPair", "BinaryAgreement", "binary_agreement", "rate"),
            "bootstrap": ("bootstrap",),
            "chance": ("cohen_kappa", "krippendorff_alpha", "position_consistency", "weighted_kappa"),
            "change_detection": ("RateAlarm", "RateDetector", "RateReference", "is_over", "reference_of"),
            "anytime_bounds": ("confidence_sequence",),
            "intervals": (
                "Interval",
                "Z",
                "cases_for_margin",
                "cases_needed",
                "effective_n",
                "effective_n_of_hits",
                "paired_interval",
                "rounded",
                "wilson",
            ),
            "mean_interval": ("mean_interval",),
            "repetition": ("pass_at_k", "pass_hat_k"),
            "sequential": ("LEVEL", "level_of", "level_of_look"),
            "significance": ("fisher_greater", "holm", "sign_test", "sign_test_greater"),
            "variance": ("VarianceComponents", "noise_margin", "variance_components"),
        },
    )
