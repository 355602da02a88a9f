"""pytest runs a suite: `pytest --harness SUITE`, and the fixture `harness_run`; see docs/how-to/pytest.md."""
