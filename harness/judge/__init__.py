"""Judges by a model what no verifier can decide: one binary criterion at a time, on the evidence that it needs."""

from typing import TYPE_CHECKING

from harness.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from harness.judge.code_criteria import CodeCriterion as CodeCriterion
    from harness.judge.code_criteria import Decision as Decision
    from harness.judge.comparison import ComparisonScore as ComparisonScore
    from harness.judge.comparison import PairwiseComparison as PairwiseComparison
    from harness.judge.comparison import comparison_score as comparison_score
    from harness.judge.comparison import scores_by_criterion as scores_by_criterion
    from harness.judge.family import shared_family as shared_family
    from harness.judge.findings import FAILURE_MODES as FAILURE_MODES
    from harness.judge.findings import judged_findings as judged_findings
    from harness.judge.findings import merged_findings as merged_findings
    from harness.judge.findings import unjudged_modes as unjudged_modes
    from harness.judge.judge import Judge as Judge
    from harness.judge.judge import JudgedTrial as JudgedTrial
    from harness.judge.judge import why_not_eligible as why_not_eligible
    from harness.judge.judgement import Answer as Answer
    from harness.judge.judgement import JudgeIdentity as JudgeIdentity
    from harness.judge.judgement import Judgement as Judgement
    from harness.judge.lab.agreement.comparing import AgreementReport as AgreementReport
    from harness.judge.lab.agreement.comparing import AgreementRow as AgreementRow
    from harness.judge.lab.agreement.comparing import Right as Right
    from harness.judge.lab.agreement.comparing import against_labels as against_labels
    from harness.judge.lab.agreement.comparing import compare as compare
    from harness.judge.lab.annotation.annotation_queue import PER_ITEM as PER_ITEM
    from harness.judge.lab.annotation.annotation_queue import AnnotationQueue as AnnotationQueue
    from harness.judge.lab.annotation.annotation_queue import AnnotatorSession as AnnotatorSession
    from harness.judge.lab.annotation.annotation_queue import QueueEntry as QueueEntry
    from harness.judge.lab.annotation.work import AnnotationTask as AnnotationTask
    from harness.judge.lab.annotation.work import QueuedQuestion as QueuedQuestion
    from harness.judge.lab.annotation.work import work_of as work_of
    from harness.judge.lab.calibration.answer_cache import AnswerCache as AnswerCache
    from harness.judge.lab.calibration.calibrate import CalibrationSettings as CalibrationSettings
    from harness.judge.lab.calibration.calibrate import Measured as Measured
    from harness.judge.lab.calibration.calibrate import Outcome as Outcome
    from harness.judge.lab.calibration.calibrated import Calibrated as Calibrated
    from harness.judge.lab.calibration.figures import AgreementFigures as AgreementFigures
    from harness.judge.lab.calibration.model_judge import AskingJudge as AskingJudge
    from harness.judge.lab.calibration.model_judge import ModelReflector as ModelReflector
    from harness.judge.lab.calibration.question import Question as Question
    from harness.judge.lab.calibration.question import Reflector as Reflector
    from harness.judge.lab.calibration.record import CalibrationRecord as CalibrationRecord
    from harness.judge.lab.calibration.record import add_record as add_record
    from harness.judge.lab.calibration.record import agreements as agreements
    from harness.judge.lab.calibration.record import asked_by as asked_by
    from harness.judge.lab.calibration.record import read_records as read_records
    from harness.judge.lab.calibration.record import record_path as record_path
    from harness.judge.lab.calibration.record import uncalibrated as uncalibrated
    from harness.judge.lab.calibration.rule_reflector import CalibrationRuleReflector as CalibrationRuleReflector
    from harness.judge.lab.calibration.split import deal_cases as deal_cases
    from harness.judge.lab.turing.answers import TuringAnswer as TuringAnswer
    from harness.judge.lab.turing.answers import TuringFile as TuringFile
    from harness.judge.lab.turing.answers import turing_path as turing_path
    from harness.judge.lab.turing.figures import INTENT_RUBRIC as INTENT_RUBRIC
    from harness.judge.lab.turing.figures import TuringReport as TuringReport
    from harness.judge.lab.turing.figures import turing_report as turing_report
    from harness.judge.lab.turing.pairs import ShownConversation as ShownConversation
    from harness.judge.lab.turing.pairs import conversations_of as conversations_of
    from harness.judge.lab.turing.pairs import pairs_of as pairs_of
    from harness.judge.lab.turing.questions import SCALE as SCALE
    from harness.judge.lab.turing.questions import IntentQuestion as IntentQuestion
    from harness.judge.lab.turing.questions import PairQuestion as PairQuestion
    from harness.judge.lab.turing.questions import questions_of as questions_of
    from harness.judge.labels.file import LabelFile as LabelFile
    from harness.judge.labels.file import label_path as label_path
    from harness.judge.labels.label import LabelItem as LabelItem
    from harness.judge.labels.label import LabelledItem as LabelledItem
    from harness.judge.labels.label import PersonAnswer as PersonAnswer
    from harness.judge.labels.lines import append_line as append_line
    from harness.judge.labels.lines import read_lines as read_lines
    from harness.judge.labels.sorting import SortedLabels as SortedLabels
    from harness.judge.labels.sorting import sort_labels as sort_labels
    from harness.judge.langfuse import Langfuse as Langfuse
    from harness.judge.loading import load_rubric as load_rubric
    from harness.judge.loading import rubric_names as rubric_names
    from harness.judge.pairwise import Pairwise as Pairwise
    from harness.judge.panel import Panel as Panel
    from harness.judge.panel import PanelTask as PanelTask
    from harness.judge.panel import run_panel as run_panel
    from harness.judge.prompting.request import judge_request as judge_request
    from harness.judge.prompts import Prompt as Prompt
    from harness.judge.prompts import PromptRegistry as PromptRegistry
    from harness.judge.rubric import MIN_COVERAGE as MIN_COVERAGE
    from harness.judge.rubric import Criterion as Criterion
    from harness.judge.rubric import Rubric as Rubric
    from harness.judge.scoring import RubricScore as RubricScore
    from harness.judge.scoring import plain_mean as plain_mean
    from harness.judge.scoring import score_rubric as score_rubric
    from harness.judge.scoring import weighted_mean as weighted_mean
    from harness.judge.settings import JudgeSettings as JudgeSettings
    from harness.judge.settings import judge_settings as judge_settings
    from harness.judge.side_by_side import ConcurrentPanels as ConcurrentPanels
    from harness.judge.transcript.building import build_transcript as build_transcript
    from harness.judge.transcript.piece import CHARS_PER_TOKEN as CHARS_PER_TOKEN
    from harness.judge.transcript.piece import Piece as Piece
    from harness.judge.transcript.piece import Transcript as Transcript
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "code_criteria": (
                "Decision",
                "CodeCriterion",
            ),
            "lab.agreement.comparing": ("AgreementReport", "AgreementRow", "Right", "against_labels", "compare"),
            "lab.annotation.annotation_queue": ("AnnotationQueue", "AnnotatorSession", "PER_ITEM", "QueueEntry"),
            "lab.annotation.work": ("QueuedQuestion", "AnnotationTask", "work_of"),
            "lab.calibration.answer_cache": ("AnswerCache",),
            "lab.calibration.calibrate": ("Measured", "Outcome", "CalibrationSettings"),
            "lab.calibration.calibrated": ("Calibrated",),
            "lab.calibration.figures": ("AgreementFigures",),
            "lab.calibration.model_judge": ("AskingJudge", "ModelReflector"),
            "lab.calibration.question": ("Question", "Reflector"),
            "lab.calibration.record": (
                "CalibrationRecord",
                "add_record",
                "agreements",
                "asked_by",
                "read_records",
                "record_path",
                "uncalibrated",
            ),
            "lab.calibration.rule_reflector": ("CalibrationRuleReflector",),
            "lab.calibration.split": ("deal_cases",),
            "comparison": ("ComparisonScore", "PairwiseComparison", "comparison_score", "scores_by_criterion"),
            "family": ("shared_family",),
            "findings": ("FAILURE_MODES", "judged_findings", "merged_findings", "unjudged_modes"),
            "judge": ("Judge", "JudgedTrial", "why_not_eligible"),
            "judgement": ("Answer", "JudgeIdentity", "Judgement"),
            "lab.turing.answers": ("TuringAnswer", "TuringFile", "turing_path"),
            "lab.turing.figures": ("INTENT_RUBRIC", "TuringReport", "turing_report"),
            "lab.turing.pairs": ("ShownConversation", "conversations_of", "pairs_of"),
            "lab.turing.questions": ("IntentQuestion", "PairQuestion", "SCALE", "questions_of"),
            "labels.file": ("LabelFile", "label_path"),
            "labels.label": ("LabelItem", "LabelledItem", "PersonAnswer"),
            "labels.lines": ("append_line", "read_lines"),
            "labels.sorting": ("SortedLabels", "sort_labels"),
            "langfuse": ("Langfuse",),
            "loading": ("load_rubric", "rubric_names"),
            "pairwise": ("Pairwise",),
            "panel": ("Panel", "PanelTask", "run_panel"),
            "side_by_side": ("ConcurrentPanels",),
            "prompting.request": ("judge_request",),
            "prompts": ("Prompt", "PromptRegistry"),
            "rubric": ("Criterion", "MIN_COVERAGE", "Rubric"),
            "scoring": ("RubricScore", "plain_mean", "score_rubric", "weighted_mean"),
            "settings": ("JudgeSettings", "judge_settings"),
            "transcript.building": ("build_transcript",),
            "transcript.piece": ("CHARS_PER_TOKEN", "Piece", "Transcript"),
        },
    )
