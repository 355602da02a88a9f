"""Criteria that a model decides: rubrics, transcripts, verdicts, labels, agreement and calibration."""
