"""Causes of failures found by trying, and prompts revised and confirmed on held-out cases."""
