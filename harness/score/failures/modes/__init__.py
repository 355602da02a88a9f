"""The detectors, one failure mode a file."""
