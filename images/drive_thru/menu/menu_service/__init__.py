"""A breakfast menu and its orders over HTTP, on the standard library alone: it starts anew for every sealed trial."""
