"""The algorithms of a sweep: where they come from, what they guarantee."""

from __future__ import annotations

from analysis.chapter import Chapter, Data

ORDER = 80

COLUMNS = ["family", "algorithm", "version", "guarantee", "anytime", "source"]
"""Those of the manifest that say what an algorithm is; old manifests lack the last."""


def chapter(data: Data) -> Chapter:
    """The chapter, for every sweep."""
    known = [name for name in COLUMNS if name in data.manifest]
    table = data.manifest[known].drop_duplicates(ignore_index=True)
    view = table.astype(object).where(table.notna(), "")
    if "anytime" in view:
        view["anytime"] = ["yes" if value else "no" for value in view["anytime"]]
    return Chapter("algorithms", "Algorithms", table, view.astype(str))
