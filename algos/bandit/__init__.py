"""Algorithms of the `bandit` family: one module per source, each registers itself."""
