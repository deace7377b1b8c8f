"""Runs a command at a terminal of its own: what is typed comes on standard input, what it shows goes to standard output."""

import os
import pty
import select
import sys

process, terminal = pty.fork()
if process == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
watched = [terminal, 0]
while True:
    for ready in select.select(watched, [], [])[0]:
        try:
            data = os.read(ready, 65536)
        except OSError:  # Nobody has the terminal open any more.
            data = b""
        if ready == terminal:
            if not data:
                sys.exit(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
            os.write(1, data)
        elif data:
            os.write(terminal, data)
        else:
            # Whoever sits there closes it.
            os.close(terminal)
            sys.exit(0)
