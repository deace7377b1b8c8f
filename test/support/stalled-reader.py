"""Runs a command whose standard output nobody reads until a line comes on standard input; from then on it is copied.

stalled-reader.py pipe|socket|terminal COMMAND...
"""

import os
import pty
import socket
import subprocess
import sys
import tty

kind, *command = sys.argv[1:]
if kind == "pipe":
    reader, writer = os.pipe()
elif kind == "socket":
    ends = socket.socketpair()
    reader, writer = (end.detach() for end in ends)
else:
    reader, writer = pty.openpty()
    tty.setraw(writer)
child = subprocess.Popen(command, stdout=writer, stdin=subprocess.DEVNULL)
os.close(writer)
sys.stdin.readline()
while True:
    try:
        data = os.read(reader, 65536)
    except OSError:  # A terminal that nobody writes to any more.
        break
    if not data:
        break
    sys.stdout.buffer.write(data)
sys.exit(child.wait())
