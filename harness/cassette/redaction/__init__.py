"""Secrets found in every encoded form, and removed before anything is stored."""
