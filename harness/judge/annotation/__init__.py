"""Annotation: people answer what a judge is asked, on the same evidence, without knowing what it said."""

from harness.judge.annotation.desk import PER_ITEM, Desk, Place, Seat
from harness.judge.annotation.server import AnnotationServer
from harness.judge.annotation.work import Work, work_of

__all__ = ["PER_ITEM", "AnnotationServer", "Desk", "Place", "Seat", "Work", "work_of"]
