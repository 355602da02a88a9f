"""The verbs that start trials, and `harness score` and `harness merge`, whose runs are printed in the same way."""
