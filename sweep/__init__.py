"""The machine of a sweep: configuration → plan → Ray actors → store → tracking."""
