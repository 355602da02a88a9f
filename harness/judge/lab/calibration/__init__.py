"""Calibration: a judge's prompt is revised until it agrees with people, and its quality is measured on
separate data.

Nothing is imported here: a report needs the stored records alone, not the search for a prompt.
"""
