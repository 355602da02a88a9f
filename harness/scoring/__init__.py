"""Verdicts, metrics and findings of one trial, and the statistics of many. Scoring is pure:
it reads only what is stored.
"""
