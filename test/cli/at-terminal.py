"""Runs a command at a terminal of its own, answers its question, and prints all that is seen, and its exit code.

at-terminal.py <answer> <program> [<argument> ...]
"""

import os
import pty
import sys

answer, *command = sys.argv[1:]
child, terminal = pty.fork()
if child == 0:
    os.execvp(command[0], command)
seen = b""
answered = False
while True:
    try:
        chunk = os.read(terminal, 4096)
    except OSError:
        # What Linux says when the other side has closed.
        break
    if not chunk:
        break
    seen += chunk
    if not answered and b"[y/N] " in seen:
        answered = True
        os.write(terminal, answer.encode() + b"\n")
_, status = os.waitpid(child, 0)
sys.stdout.buffer.write(seen)
print(f"\nexit {os.waitstatus_to_exitcode(status)}")
