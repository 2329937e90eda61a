"""Showing it: the agent with its HTTP API, its metrics and its page."""
