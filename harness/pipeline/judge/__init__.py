"""Use cases of judges on stored runs: judging, pairwise comparison, calibration, red teaming."""
