"""Runs the endpoints of knowledge objects written in Python for a KGrid activator."""

VERSION = "0.1.0"
