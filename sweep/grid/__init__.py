"""From a configuration to the work it stands for.

schema, config    the keys with their types; the values, checked
compose           a command line composed without running it; hydra_errors in one line
axes, tables      what an axis stands for; tables of numbers given as files
planner → plan    axes combined to sections of cells, numbered and never all held
inventory         what the store has of a plan
effort            targets of replicates, and the rules that raise them
units             what is still to be simulated
manifest          what a result is of, as columns
"""
