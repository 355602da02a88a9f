"""Annotation: people answer the judge's questions, on the same evidence, without seeing the judge's answers."""

from harness.judge.lab.annotation.annotation_queue import PER_ITEM, AnnotationQueue, AnnotatorSession, QueueEntry
from harness.judge.lab.annotation.work import AnnotationTask, work_of

__all__ = [
    "PER_ITEM",
    "AnnotationQueue",
    "AnnotationTask",
    "AnnotatorSession",
    "QueueEntry",
    "work_of",
]
