"""Slow, plain implementations of the algorithms, and the means to compare kernels with them."""
