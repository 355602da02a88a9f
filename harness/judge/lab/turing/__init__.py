"""A Turing test of simulated users: people tell real conversations from simulated ones, and rate how well a plan is
followed.
"""
