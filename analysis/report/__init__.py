"""The report of a sweep: one page to send, the figures and tables behind it, a terminal's view."""
