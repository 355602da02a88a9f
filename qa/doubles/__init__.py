"""Models of rules: doubles of a judge, a user and a reflector, for demonstrations, tests and measurements."""
