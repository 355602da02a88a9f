"""A small web shop: products, a cart a visitor, orders. Standard library only."""
