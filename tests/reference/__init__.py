"""Slow, plain implementations of the algorithms, and the means to compare kernels with them.

A package a family, named like it; in it a module a source, with a function named like each
algorithm that the source describes. A family's package says how its references are played:

- `table(rng, rounds)`: a random instance on which a kernel draws no rewards;
- `play(function, instance, T, rng, **keywords)`: the actions and messages of a reference on it;
- `CLEAR`: one such instance, 9000 rounds, on which there is no doubt what is best;
- `GOLDEN`: the instances of tests/algos/golden.json.

A plugin's references may lie in a folder `reference/FAMILY/` of its own, anywhere on sys.path.
"""

from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)
