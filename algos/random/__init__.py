"""Random numbers for kernels: one inlined generator, seeding, and every sampler that is needed.

A replicate's generator is its state, a uint64 array of four words that every sampler takes first
and moves on:

    from algos.random.continuous import laplace
    from algos.random.generator import uniform

    u = uniform(rng)
    noise = laplace(rng, 1.0 / epsilon)

`generator`: xoshiro256++ and uniform numbers. `seeding`: states from (seed, stream, replicate),
bit for bit those of NumPy's SeedSequence. `continuous`: exponential, Laplace, normal, gamma, beta.
`discrete`: geometric, binomial, multinomial, integers below a bound. Counts are int64 and hold up
to 2^61.

Each sampler takes a fixed order of uniform numbers from the generator, so a plain implementation
that calls the same samplers plays the same rounds.
"""
