"""From a configuration to the work it stands for: axes, cells, what the store lacks, units."""
