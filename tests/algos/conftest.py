"""Plugins to be tested like shipped modules: their names in TESTED_PLUGINS, separated by spaces.

    TESTED_PLUGINS=my_module pytest tests/algos/test_contract.py tests/algos/test_reference.py

A plugin's references are found in a folder `reference/FAMILY/` beside it (see tests/reference).
"""

from __future__ import annotations

import os

from algos import load_plugins

load_plugins(os.environ.get("TESTED_PLUGINS", "").split())
