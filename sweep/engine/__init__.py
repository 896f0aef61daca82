"""Carrying out units of work.

driver           what is left, what has come, commits, live progress
batches          units handed out, handed out again, given up; the executors' one interface
executors        which one a sweep gets: inline_executor or ray_executor
worker, rows     a batch played, its outcome as rows
kernels          whether every kernel compiles, before anything starts
ray_session      a local Ray, or a cluster joined; ray_auth: its tokens
points           what Weights & Biases is shown of it
progress, interrupts, machine, ray_private
"""
