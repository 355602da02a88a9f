"""Candidates: the texts of an agent that an optimisation may change, and agents that are made of them."""
