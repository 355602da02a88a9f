"""Two small language models on this machine, in all four places of the harness in which a model stands."""
