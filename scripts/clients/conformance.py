"""The official conformance suite for MCP servers: `conformance.py ONWARD NODE_BIN`."""
import os
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
from project import served, waiting  # noqa: E402

HERE = Path(__file__).resolve().parent
binary, programs = os.path.abspath(sys.argv[1]), sys.argv[2]

with waiting(binary) as folder, served(binary, folder) as (url, token):
    proxy = subprocess.Popen([sys.executable, HERE / "with_token.py", url, token], stdout=subprocess.PIPE, text=True)
    try:
        words = [f"{programs}/conformance", "server", "--url", proxy.stdout.readline().strip()]
        words += ["--expected-failures", HERE / "expected-failures.yaml"]
        env = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
        ran = subprocess.run(words, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    finally:
        proxy.kill()
        proxy.wait()
print(ran.stdout[ran.stdout.find("=== SUMMARY"):] if ran.returncode else ran.stdout.strip().splitlines()[-1], ran.stderr if ran.returncode else "")
sys.exit(ran.returncode)
