"""Plans of runs: resolved and validated before anything is built or started."""
