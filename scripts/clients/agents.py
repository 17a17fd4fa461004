"""Stories with the real Claude Code and the real Codex, offline: `agents.py ONWARD RIG`. Exit 77 where they are not to be had."""
import json
import os
import shutil
import sys
import tempfile
import traceback
from pathlib import Path

sys.dont_write_bytecode = True
BINARY, RIG = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
sys.path.insert(0, str(RIG))
from project import PLAN  # noqa: E402
from rig import CODEX, SESSION, SKIP, Skipped, claude, play  # noqa: E402

DONE = {"text": "done", "times": 0}
LONG = "some words that are long enough to be cut in two"
NOTE = "the auth module is done"
PLUGIN = ".claude/plugins/onward"
BEGUN = f"onward init --claude-code && {{ onward run; test $? = 15; }} && onward report start design && onward report progress design --note '{NOTE}'"


def begun(extra=""):
    """A project with the plugin and a run whose first phase is at work."""
    ready = play([], "sh", "-c", BEGUN + extra, files={"onward.yaml": PLAN})
    assert ready.code == 0, ready.out + ready.err
    return ready


def plugged(prompt, *flags):
    return claude(prompt, "--plugin-dir", PLUGIN, *flags)


def status(after):
    return json.loads(play([], "onward", "status", "--json", after=after).out)


def checkpoints(after):
    return json.loads(play([], "onward", "log", "--json", after=after).out)["checkpoints"]


def tool(name, **arguments):
    return {"tool": {"name": f"mcp__plugin_onward_onward__{name}", "input": arguments}}


OWN = {"onward": 1, "name": "own", "phases": {
    "a": {"external": {"instructions": "Write a.txt."}, "artifacts": {"out": "a.txt"}},
    "b": {"needs": ["a"], "external": {"instructions": "Look at a.txt."}}}}
TRUSTED = (*CODEX, "--dangerously-bypass-hook-trust", "-s", "workspace-write")


def with_plugin(ready):
    """The same folder with the plugin in Codex."""
    add = f"codex plugin marketplace add ./{PLUGIN} && codex plugin add onward@onward"
    added = play([], "sh", "-c", add, after=ready)
    assert added.code == 0, added.out + added.err
    return added


def asks(name, **arguments):
    """A call of a tool by Codex."""
    return {"tool": {"name": name, "namespace": "mcp__onward", "input": arguments}}


def times_told(played, number=-1):
    """How often the note stands in the conversation of a request."""
    return len(played.says(number + 1 if number >= 0 else len(played.requests), NOTE))


def claude_is_told_once():
    """A session is told of the run; the same session, gone on with, has it in its conversation once."""
    first = play([DONE], *plugged("hello", "--session-id", SESSION), after=begun())
    assert times_told(first) == 1, first.requests
    again = play([DONE], *plugged("and now", "--resume", SESSION), after=first)
    assert times_told(again) == 1, again.requests


def claude_is_killed_and_goes_on():
    """The session is killed in the middle of an answer. Started again it is still told once, and finishes the phase."""
    cut = play([{"hang": True, "text": LONG}], *plugged("go", "--session-id", SESSION), after=begun(), kill=("SIGKILL", '"request": 1'))
    assert cut.code == 137, cut.code
    steps = [tool("next"), tool("report_done", phase="design"), DONE]
    allowed = ("--allowedTools", "mcp__plugin_onward_onward")
    again = play(steps, *plugged("go on", "--resume", SESSION, *allowed), after=cut, files={"design.md": "done\n"})
    assert again.code == 0 and NOTE in again.requests[1]["results"], again.out + again.err
    assert [one["id"] for one in status(again)["completed"]] == ["design"]


def claude_starts_anew_and_goes_on():
    """The session is killed and lost. A new one, which knows nothing of the first, is told of the run and takes it to its end."""
    cut = play([{"hang": True, "text": LONG}], *plugged("go"), after=begun(), kill=("SIGKILL", '"request": 1'))
    assert cut.code == 137, cut.code
    steps = [tool("next"), tool("report_done", phase="design"), tool("report_done", phase="build"), DONE]
    allowed = ("--allowedTools", "mcp__plugin_onward_onward")
    again = play(steps, *plugged("what is to do?", *allowed), after=cut, files={"design.md": "done\n"})
    assert not again.requests[0]["continued"] and times_told(again, 0) == 1, again.requests[0]
    assert (again.code, status(again)["status"]) == (0, "completed"), status(again)


def claude_compacts_and_is_told_again():
    """The context is compacted: the run is saved, nothing is put before whoever sums up, and the brief comes back."""
    bash = {"tool": {"name": "Bash", "input": {"command": "echo one", "description": "say one"}}}
    summary = {"text": "<summary>so far</summary>", "when": {"last": "^CRITICAL"}, "times": 0}
    ready = begun()
    before = len(checkpoints(ready))
    steps = [summary, bash, bash, bash | {"usage": {"input_tokens": 120000}}, DONE]
    played = play(steps, *plugged("run it", "--model", "sonnet"), after=ready, env={"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"})
    assert played.says(5, "SessionStart:compact hook success") and times_told(played, 4) == 1, played.requests[-1]
    assert "onward" not in played.requests[3]["last"].lower(), played.requests[3]["last"]
    assert len(checkpoints(played)) == before + 1, checkpoints(played)


def claude_fails_and_the_run_is_saved():
    """The model's interface fails. The client says so to its hooks alone, and a checkpoint is taken."""
    ready = begun()
    before = len(checkpoints(ready))
    played = play([{"error": "rate_limit", "retry_after_s": 61, "times": 0}], *plugged("hello"), after=ready)
    taken = checkpoints(played)
    assert (played.code, len(taken), taken[0]["trigger"]) == (1, before + 1, "session_end"), taken


def claude_drives_a_whole_plan():
    """The client starts a plan of its own over MCP and takes it to its end; a claim that is not true is refused on the way."""
    write = {"tool": {"name": "Write", "input": {"file_path": "$PROJECT/a.txt", "content": "a\n"}}}
    steps = [tool("start", plan=OWN), tool("report_start", phase="a"), tool("report_done", phase="a"), write,
             tool("report_done", phase="a", summary="written"), tool("next"), tool("report_done", phase="b"), DONE]
    ready = play([], "onward", "init", "--claude-code")
    flags = ("--allowedTools", "mcp__plugin_onward_onward,Write", "--permission-mode", "acceptEdits")
    played = play(steps, *plugged("do it", *flags), after=ready)
    assert played.code == 0, played.out + played.err
    driven_to_its_end(played)


def driven_to_its_end(played):
    """A plan was started, a claim that is not true was refused, the next phase was handed out, and the run is complete."""
    results = [request["results"].replace("\\", "") for request in played.requests]
    assert "a.txt" in results[3] and '"accepted":false' in results[3] and "Look at a.txt." in results[6], results
    now = status(played)
    assert (now["status"], now["completed"][0]["summary"]) == ("completed", "written"), now


def claude_has_the_skill_and_the_commands():
    """The plugin is valid; its commands reach the model as prompts."""
    ready = begun()
    valid = play([], "claude", "plugin", "validate", "--strict", PLUGIN, after=ready)
    assert valid.code == 0, valid.out + valid.err
    played = play([DONE], *plugged("/onward:onward-resume"), after=ready)
    assert played.says(1, "Go on with the unfinished run of onward"), played.requests
    init = next(frame for frame in played.frames if frame.get("subtype") == "init")
    assert not init.get("plugin_errors") and "onward:onward" in json.dumps(init), init


def codex_takes_the_same_plugin():
    """Codex loads the same folder: it is told of the run, calls a tool that changes something without a question, and saves."""
    added = with_plugin(begun())
    before = len(checkpoints(added))
    played = play([asks("report_progress", phase="design", note="from codex"), DONE], *TRUSTED, "go", after=added)
    assert played.code == 0 and times_told(played, 0) == 1, played.out + played.err
    assert '"accepted":true' in played.requests[1]["results"].replace("\\", ""), played.requests[1]["results"]
    assert status(played)["running"][0]["note"] == "from codex"
    assert len(checkpoints(played)) > before, checkpoints(played)


def codex_drives_a_whole_plan():
    """Codex starts a plan of its own over MCP and takes it to its end; a claim that is not true is refused on the way."""
    added = with_plugin(play([], "onward", "init", "--claude-code"))
    write = {"tool": {"name": "apply_patch", "input": "*** Begin Patch\n*** Add File: a.txt\n+a\n*** End Patch\n"}}
    steps = [asks("start", plan=OWN), asks("report_start", phase="a"), asks("report_done", phase="a"), write,
             asks("report_done", phase="a", summary="written"), asks("next"), asks("report_done", phase="b"), DONE]
    played = play(steps, *TRUSTED, "do it", after=added)
    assert played.code == 0, played.out + played.err
    driven_to_its_end(played)


def codex_is_killed_and_goes_on():
    """The session is killed in the middle of an answer. The same thread goes on and is told once; a new one is told, too, and ends it."""
    added = with_plugin(begun())
    cut = play([{"hang": True, "text": LONG}], *TRUSTED, "go", after=added, kill=("SIGTERM", '"request": 1'))
    assert cut.code == 143, cut.code
    again = play([asks("next"), DONE], *TRUSTED, "resume", cut.frames[0]["thread_id"], "go on", after=cut)
    assert again.code == 0 and times_told(again, 0) == 1 and NOTE in again.requests[1]["results"], again.requests
    steps = [asks("report_done", phase="design"), asks("report_done", phase="build"), DONE]
    new = play(steps, *TRUSTED, "what is to do?", after=again, files={"design.md": "done\n"})
    assert times_told(new, 0) == 1 and status(new)["status"] == "completed", (new.requests, status(new))


def codex_compacts_and_is_told_again():
    """The context is compacted: the run is saved, and the brief comes back."""
    added = with_plugin(begun())
    before = len(checkpoints(added))
    full = {"tool": {"name": "exec_command", "input": {"cmd": "echo one"}}, "usage": {"input_tokens": 300000}}
    played = play([full, {"text": "summary"}, DONE], *TRUSTED, "run it", after=added)
    assert played.code == 0 and times_told(played) == 1, played.requests[-1]
    assert len(checkpoints(played)) > before, checkpoints(played)


def main():
    stories = [story for name, story in globals().items() if name.startswith(("claude_", "codex_"))]
    stories = [story for story in stories if not sys.argv[3:] or any(word in story.__name__ for word in sys.argv[3:])]
    failed = 0
    with tempfile.TemporaryDirectory() as tempfile.tempdir:
        programs = Path(tempfile.mkdtemp())
        shutil.copy(BINARY, programs / "onward")
        os.environ["PATH"] = f"{programs}:{os.environ['PATH']}"
        for story in stories:
            try:
                story()
                print(f"ok {story.__name__}", flush=True)
            except Skipped as why:
                print(f"{story.__name__}: {why}", file=sys.stderr)
                return SKIP
            except Exception:
                failed += 1
                print(f"FAILED {story.__name__}\n{traceback.format_exc()}", flush=True)
    return 1 if failed else 0


sys.exit(main())
