"""One question to a judge: its request, and the parsing of its answer."""
