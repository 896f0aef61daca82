"""Sweeps sent to a Ray cluster through its dashboard: `python -m sweep.submit`."""
