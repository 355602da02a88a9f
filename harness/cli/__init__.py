"""The command line: one file a verb; it parses, calls one function, prints, sets the exit code."""
