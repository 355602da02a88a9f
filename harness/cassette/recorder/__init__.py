"""Recording: the journal of a trial, and the rules by which it is merged into a cassette."""
