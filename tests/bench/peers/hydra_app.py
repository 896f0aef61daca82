"""A Hydra application whose jobs do next to nothing: python hydra_app.py -m x=range(1,N)."""

from __future__ import annotations

from typing import Any

import hydra
from cell import cell
from hydra.core.config_store import ConfigStore

ConfigStore.instance().store(name="config", node={"x": 1})


@hydra.main(version_base="1.3", config_path=None, config_name="config")
def main(config: Any) -> float:
    """One job; the launcher hands its value back to the parent."""
    return cell(config.x / 100)


if __name__ == "__main__":
    main()
