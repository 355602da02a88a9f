"""The parts of a trial's page."""
