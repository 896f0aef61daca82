"""Carrying out units of work: the driver, its executors, and what they do to a unit."""
