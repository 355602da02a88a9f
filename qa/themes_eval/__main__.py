"""Prints the figures of both sources, by shingles and, with the extra `embeddings`, by vectors."""

from harness.errors import UsageError
from harness.production.grouping import load_embedding
from qa.themes_eval.evaluation import evaluated, printed
from qa.themes_eval.wordings import HELD_OUT, TUNED
from tests.real_data import FOLDER

print("in sample:", printed(evaluated(FOLDER, "tau-bench", TUNED)))
print("left out:", printed(evaluated(FOLDER, "tau2", HELD_OUT)))
try:
    embed = load_embedding()
except UsageError as error:
    print(f"by vectors: {error}")
else:
    print("by vectors, in sample:", printed(evaluated(FOLDER, "tau-bench", TUNED, embed=embed)))
    print("by vectors, left out:", printed(evaluated(FOLDER, "tau2", HELD_OUT, embed=embed)))
