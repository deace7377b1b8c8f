"""Numbers in memory that the worker shares with the runtime, which reads them also when the worker is gone."""

# Calls that were begun.
BEGUN = 0
# Nudges that were heard: none while something holds the interpreter.
HEARD = 1
COUNTERS_SIZE = 16
