"""Installs what knowledge objects require, and those that are packages themselves.

Two kinds of programs do the work, each a process of its own with its input as JSON: `fetch.py` reaches the network and
runs no code of packages, `build.py` runs code of packages and reaches no network.
"""
