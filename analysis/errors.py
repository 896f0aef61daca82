"""The one error that a user of the analysis can cause: the project's own."""

from __future__ import annotations

from algos.errors import InputError

AnalysisError = InputError
