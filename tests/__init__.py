"""The tests; as a package so that `python -m tests.oracle` finds it before the folders of that name that others install."""
