"""Code of knowledge objects for tests."""

# Does as its input says, and tells the process and how many calls have begun there.
SLEEPER = """
import os, time
begun = 0
def main(value):
    global begun
    begun += 1
    if value.get("file"):
        open(value["file"], "a").write("x")
    if "spin" in value or "sleep" in value or "until" in value:
        print("begun")
    if "spin" in value:
        while True:
            pass
    while "until" in value and not os.path.exists(os.path.join(os.environ["TMPDIR"], value["until"])):
        time.sleep(0.005)
    time.sleep(value.get("sleep", 0))
    return [os.getpid(), begun]
"""
