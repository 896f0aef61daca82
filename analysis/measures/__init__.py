"""What is measured of a cell: small results of its curves, for the tables of chapters.

A measure is a function of `Curves`, or a frozen dataclass that is called with one: it is compared,
sent to processes that measure cells, and imported there, so that these modules load neither frames
nor figures.
"""
