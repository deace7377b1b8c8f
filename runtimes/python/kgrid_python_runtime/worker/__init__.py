"""The worker process: runs the code of one knowledge object. Standard library only, and as little of it as possible."""
