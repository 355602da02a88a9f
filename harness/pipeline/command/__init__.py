"""A command of the user's machine, run once and recorded: suite, case, snapshot and cassette in one go."""
