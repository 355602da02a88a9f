"""The demonstration of production: see `__main__`."""
