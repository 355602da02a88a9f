"""The workbench: a criterion or a prompt is changed, tried on a few trials, and saved as a candidate."""
