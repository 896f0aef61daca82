"""The machine of a sweep: configuration → plan → executor → store → tracking.

    store/     the results: layout, reading, writing; imports nothing else of the sweep
    tracking/  Weights & Biases, from a process of its own
    grid/      configuration → cells → units: what is wanted and not there yet
    engine/    units → rows: the driver, two executors, what is done with a unit
    run        one sweep from its configuration to its report
    submit/    the same on a cluster, through Ray's Jobs API

The way of a unit: `grid.planner` makes sections of cells of the axes; `grid.units.Pending` asks the
inventory what the store has and makes units of the rest, longest first; `engine.batches` hands
them out; an executor (`engine.inline_executor` here, `engine.ray_executor` on actors) gives them to
`engine.worker.Worker`; that asks the unit's `algos.work.Work` to play its replicates, which calls
the kernel. The outcome becomes rows (`engine.rows`) there and then, which `engine.keeper` puts into
the store when the driver asks for it (`engine.pace`); the driver hears which units are safe.
"""
