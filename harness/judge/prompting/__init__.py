"""One question to a judge: how it is worded, and how its answer is read."""
