"""Hydra configuration: `config.yaml`, the grids, and the groups `runtime` and `tracking`."""
