"""The judge's laboratory: people annotate, judges are compared with them, and prompts are calibrated.

`annotation` serves the pages on which people answer, `agreement` compares judges with people and people with each
other, `calibration` looks for a prompt that agrees better. Judging a run needs none of it.
"""
