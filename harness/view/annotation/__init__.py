"""Annotation in the app: the questions of runs, and the queues of the people who answer them."""
