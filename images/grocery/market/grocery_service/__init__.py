"""Grocery stores, shoppers and carts over HTTP, on the standard library: it starts anew for every sealed trial."""
