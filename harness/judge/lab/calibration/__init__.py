"""Calibration: a judge's prompt is revised until it agrees with people, and its quality is measured on
separate data.
"""

from harness.judge.lab.calibration.answer_cache import AnswerCache
from harness.judge.lab.calibration.calibrate import Measured, Outcome, Settings, calibrate, select
from harness.judge.lab.calibration.calibrated import Calibrated
from harness.judge.lab.calibration.choice import Choice, choose, paired_p
from harness.judge.lab.calibration.figures import Figures, figures
from harness.judge.lab.calibration.question import Answered, PromptedJudge, Question, Reflector
from harness.judge.lab.calibration.record import (
    CalibrationRecord,
    add_record,
    asked_by,
    read_records,
    record_path,
    uncalibrated,
)
from harness.judge.lab.calibration.rule_reflector import RuleReflector
from harness.judge.lab.calibration.split import Split, split_by_case

__all__ = [
    "AnswerCache",
    "Answered",
    "Calibrated",
    "CalibrationRecord",
    "Choice",
    "Figures",
    "Measured",
    "Outcome",
    "PromptedJudge",
    "Question",
    "Reflector",
    "RuleReflector",
    "Settings",
    "Split",
    "add_record",
    "asked_by",
    "calibrate",
    "choose",
    "figures",
    "paired_p",
    "read_records",
    "record_path",
    "select",
    "split_by_case",
    "uncalibrated",
]
