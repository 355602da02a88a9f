"""Compares two answers to one call: their structure, their values, and which parts change by themselves."""
