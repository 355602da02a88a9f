"""Prints the figures of both sources."""

from qa.themes_eval.evaluation import evaluated, printed
from qa.themes_eval.wordings import HELD_OUT, TUNED
from tests.real_data import FOLDER

print("in sample:", printed(evaluated(FOLDER, "tau-bench", TUNED)))
print("left out:", printed(evaluated(FOLDER, "tau2", HELD_OUT)))
