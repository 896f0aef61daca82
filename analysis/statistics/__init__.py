"""Estimates and intervals on plain arrays; nothing here knows a store or a column."""
