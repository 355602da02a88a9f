"""Calibration: a judge's prompt is revised until it agrees with people, and its quality is measured on
separate data.
"""

from harness.judge.lab.calibration.answer_cache import AnswerCache
from harness.judge.lab.calibration.calibrate import CalibrationSettings, Measured, Outcome, calibrate, select
from harness.judge.lab.calibration.calibrated import Calibrated
from harness.judge.lab.calibration.choice import Choice, choose, paired_p
from harness.judge.lab.calibration.figures import AgreementFigures, figures
from harness.judge.lab.calibration.question import JudgeAnswer, PromptedJudge, Question, Reflector
from harness.judge.lab.calibration.record import (
    CalibrationRecord,
    add_record,
    asked_by,
    read_records,
    record_path,
    uncalibrated,
)
from harness.judge.lab.calibration.rule_reflector import CalibrationRuleReflector
from harness.judge.lab.calibration.split import Split, split_by_case

__all__ = [
    "AgreementFigures",
    "AnswerCache",
    "Calibrated",
    "CalibrationRecord",
    "CalibrationRuleReflector",
    "CalibrationSettings",
    "Choice",
    "JudgeAnswer",
    "Measured",
    "Outcome",
    "PromptedJudge",
    "Question",
    "Reflector",
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
