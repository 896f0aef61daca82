"""Carrying out units of work.

driver           what is left, what is safe, live progress
batches          units handed out, handed out again, given up; the executors' one interface
executors        which one a sweep gets: inline_executor or ray_executor (ray_crew: its actors)
worker, rows     a batch played, its outcome as rows
keeper, pace     rows on their way to the store: who writes them, and how often
estimate         what a sweep is expected to take, and whether it is played here or on Ray
kernels          whether every kernel compiles, before anything starts
ray_session      a local Ray, or a cluster joined; ray_auth: its tokens
points, shown    what Weights & Biases is shown of it
progress, interrupts, machine, ray_private
"""
