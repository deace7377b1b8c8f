"""The same as small-program.ts, with frames by standard input and output."""
import json
import os
import struct
import sys
import time

given, out = sys.stdin.buffer, sys.stdout
DEFINE, LOAD, CALL, ANSWER, PING, RECORDS, LINES = 1, 2, 3, 4, 7, 10, 32
RESULT, THROWN, UNREADABLE, UNLOADED, UNWRITABLE = 0, 1, 4, 5, 6
output_limit = int(sys.argv[1])
endpoints = {}


def send(kind, a, b, text):
    out.write(f"{len(text.encode())} {kind} {a} {b}\n{text}")
    out.flush()


def described(problem):
    return json.dumps({"description": str(problem)})


def load(index):
    definition = endpoints[index]
    name = os.path.basename(definition["file"])
    try:
        with open(definition["file"], encoding="utf-8") as file:
            return json.load(file)[definition["function"]], name
    except ValueError as error:
        raise ValueError(f"{name} is not JSON: {error}") from error


def answer(index, is_json, text):
    try:
        wanted, name = load(index)
    except Exception as error:
        return UNLOADED, described(error)
    try:
        value = json.loads(text) if is_json else text
    except ValueError as error:
        return UNREADABLE, described(error)
    while wanted == "stay":
        time.sleep(1)
    if wanted == "echo":
        result = json.dumps(value)
        too_large = len(result.encode()) > output_limit
        return (UNWRITABLE, described("The result is larger than the limit")) if too_large else (RESULT, result)
    return THROWN, described(f"Error: {name} says {wanted}")


send(PING, 0, 0, "")
while header := given.read(13):
    length, kind, a, b = struct.unpack("<IBII", header)
    text = given.read(length).decode()
    if kind == DEFINE:
        endpoints[a] = json.loads(text)
    elif kind == LOAD:
        try:
            load(b >> 1)
            send(ANSWER, a, RESULT, "true")
        except Exception as error:
            send(ANSWER, a, UNLOADED, described(error))
    elif kind == CALL:
        send(ANSWER, a, *answer(b >> 1, b & 1 == 1, text))
    elif kind == RECORDS:
        lines = [answer(b >> 1, True, record) for record in text.split("\n")]
        send(LINES, a, 1, "".join(f'{{"result":{t}}}\n' if k == RESULT else f"!{k}{t}\n" for k, t in lines))
    elif kind == PING:
        send(PING, 0, 0, "")
