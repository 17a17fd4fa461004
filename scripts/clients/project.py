"""A project of its own for a client, and the server of onward beside it."""
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PLAN = """\
onward: 1
name: feature
phases:
  design: { external: { instructions: Write design.md. }, artifacts: { doc: design.md } }
  build: { needs: design, external: { instructions: Build it. } }
"""


def onward(binary, folder, *words, code=0):
    ran = subprocess.run([binary, *words], cwd=folder, env=plain(), stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if ran.returncode != code:
        sys.exit(f"onward {' '.join(words)}: {ran.returncode}\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def plain():
    """The environment without what would tell onward that it runs inside a phase or for an agent."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("ONWARD_", "CLAUDE"))}


@contextlib.contextmanager
def waiting(binary):
    """A folder with a run that waits for reports."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "onward.yaml").write_text(PLAN)
        onward(binary, folder, "run", code=15)
        yield folder


@contextlib.contextmanager
def served(binary, folder):
    """The server over HTTP: its address and token."""
    server = subprocess.Popen([binary, "mcp", "--http"], cwd=folder, env=plain(), stdout=subprocess.PIPE, text=True)
    try:
        told = json.loads(server.stdout.readline())
        yield told["url"], told["token"]
    finally:
        server.kill()
        server.wait()
