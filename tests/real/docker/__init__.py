"""Containers of a real Docker engine, which the tests start and stop themselves."""
