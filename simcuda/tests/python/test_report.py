# SPDX-License-Identifier: BSD-3-Clause
"""Pages of a run: `simcuda run --report` and `--trace`, and pytest's `--simcuda-report`."""

import functools
import html
import json
import re
import signal
import subprocess
import sys

import pytest
from helpers import LOOK
from reporting import BEGIN, GRAPH, RACE, Shown, run, show

import simcuda

pytest_plugins = ["pytester"]


@pytest.fixture
def shown(tmp_path):
    return functools.partial(show, tmp_path)


@pytest.mark.parametrize("schedule", ["lazy", "eager", "random:5"])
def test_a_race(shown, schedule):
    """Both operations, where they come from, what they touch, and on which streams."""
    page = shown(RACE, f"--schedule={schedule}")
    (race,) = page.data["races"]
    assert race["report"].startswith("race: nothing orders cuMemsetD8Async (operation 1) before ")
    for item, number, text in (race["earlier"], 1, "first"), (race["later"], 2, "second"):
        assert page.of(item, "number") == number
        assert page.kind(item) == "memset"
        functions = [frame.partition(" in ")[2] for frame in page.frames(item)]
        assert functions == ["call", "fill", "<module>"]
        assert f"# the {text}" in page.line(item)
        assert re.fullmatch(
            r"writes 64 bytes at 0x\w+, of 65536 bytes of device memory of device 0 at 0x\w+",
            *page.notes(item),
        )
    assert page.lane(race["earlier"]) != page.lane(race["later"])
    told = html.unescape(page.text)
    assert all(line in told for line in race["report"].splitlines())


LAUNCH = """
import ctypes
kernel = new("cuModuleGetFunction", new("cuModuleLoadData", PTX), b"look")
def look(address):
    first = ctypes.c_uint64(address)
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(first))
    call("cuLaunchKernel", kernel, 1, 1, 1, 1, 1, 1, 0, one, arguments, None)
    cuda.cuCtxSynchronize()
"""


def test_what_goes_wrong_inside_a_kernel(shown):
    """A finding, and a fault: each is reported for its operation, and counts."""
    for text, begins in (
        ("look(memory.value)", "check: Kernel look: thread (0, 0, 0) of block"),
        ("look(memory.value - 8)", "fault: Kernel look: thread (0, 0, 0) of block"),
    ):
        page = shown(f"PTX = {LOOK.encode()!r}" + LAUNCH + text)
        (finding,) = page.data["races"]
        assert finding["report"].startswith(begins)
        assert finding["earlier"] == finding["later"]
        assert page.names()[finding["later"]] == "look"
        assert "<h2>1 finding</h2>" in page.text
        assert "65536 bytes of device memory" in finding["report"]


def test_what_is_wrong_with_a_call(shown):
    """The use of a destroyed stream is a finding of that call, which shows though it only asks."""
    page = shown("call('cuStreamDestroy_v2', one)\ncuda.cuStreamQuery(one)")
    (finding,) = page.data["races"]
    assert finding["report"].startswith("check: cuStreamQuery is given stream 0x")
    assert finding["earlier"] == finding["later"]
    assert page.names()[finding["later"]] == "cuStreamQuery"
    assert "<h2>1 finding</h2>" in page.text
    assert "which has been destroyed: a real driver may crash" in page.text


def test_waits_are_edges(shown):
    """A record and its wait, and the host's wait for a stream."""
    page = shown(
        "fill(0, one)\nwait(one, two)\nfill(0, two)\ncall('cuStreamSynchronize', two)", status=0
    )
    names = page.names()
    found = {(names[begin], names[end]) for begin, end in page.edges()}
    assert found == {
        ("cuEventRecord", "cuStreamWaitEvent"),
        ("cuMemsetD8Async", "cuStreamSynchronize"),
    }
    assert page.data["races"] == []
    record = max(i for i, name in enumerate(names) if name == "cuEventRecord")
    until = page.of(record, "until")
    assert (names[until], page.kind(until)) == ("cuStreamWaitEvent", "event wait")


@pytest.mark.parametrize("schedule", ["lazy", "eager", "random:5"])
def test_graphs_and_captures(shown, schedule):
    page = shown(GRAPH, f"--schedule={schedule}")
    assert page.data["groups"] == ["capture", "graph", "graph"]
    names, groups = page.names(), page.items["group"]
    capture = [name for name, group in zip(names, groups, strict=True) if group == 0]
    assert capture[0] == "cuStreamBeginCapture"
    assert capture[-1] == "cuStreamEndCapture"
    assert capture.count("cuMemsetD8Async") == 2
    graph = [name for name, group in zip(names, groups, strict=True) if group == 1]
    assert sorted(graph) == ["graph end", "graph launch", "memset", "memset", "saxpy"]
    (race,) = page.data["races"]
    assert "cuGraphLaunch (memset)" in race["report"]
    assert "# the first" in page.line(race["earlier"])
    assert page.of(race["later"], "group") == 2
    assert {page.of(i, "branch") for i, name in enumerate(names) if name == "saxpy"} == {1}
    # A node's call is the launch; the call that made it is shown, too.
    assert "# the second" in page.line(race["later"])
    assert any(frame.endswith("in captured") for frame in page.frames(race["later"], "made"))
    threads = [lane["name"] for lane in page.data["lanes"] if lane["device"] is None]
    assert len([name for name in threads if name.startswith("thread ")]) == 2
    failed = [i for i in range(len(names)) if page.kind(i) == "failed call"]
    assert [names[i] for i in failed] == ["cuMemAlloc"]
    assert page.notes(*failed)[-1] == "returned 1"


KERNEL = r"""
ptx = b'''
.version 7.0
.target sm_70
.address_size 64
.visible .entry number(.param .u64 out)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mad.wide.u32 %rd2, %r1, 4, %rd1;
  st.global.u32 [%rd2], %r1;
  ret;
}
'''
function = new("cuModuleGetFunction", new("cuModuleLoadData", ptx), b"number")
arguments = (ctypes.c_void_p * 1)(ctypes.addressof(memory))
call("cuLaunchKernel", function, 1, 1, 1, 32, 1, 1, 0, one, arguments, None)
fill(0, two)
call("cuCtxSynchronize")
"""


@pytest.mark.parametrize("schedule", ["lazy", "eager", "random:5"])
def test_what_a_kernel_has_used(shown, schedule):
    page = shown(KERNEL, f"--schedule={schedule}")
    (race,) = page.data["races"]
    kernel = next(race[end] for end in ("earlier", "later") if page.kind(race[end]) == "kernel")
    assert page.names()[kernel] == "number"
    (note,) = page.notes(kernel)
    assert note.startswith("writes 128 bytes at 0x")
    assert ", by parameter 1 (out), first in number, line " in note


def test_the_race_that_ends_the_program(shown):
    page = shown(RACE, "--races=abort", status=128 + signal.SIGABRT)
    (race,) = page.data["races"]
    assert [page.of(race[end], "number") for end in ("earlier", "later")] == [1, 2]


def test_what_a_killed_program_did(shown):
    code = "fill(0, one)\nos.kill(os.getpid(), signal.SIGKILL)"
    assert shown(code, status=128 + signal.SIGKILL).names()[-1] == "cuMemsetD8Async"


def test_races_that_were_forgotten(shown):
    assert shown(RACE + "cuda.simcuda_forget()", status=0).data["races"] == []


def test_an_access_by_the_host(shown):
    code = """
host = new("cuMemHostAlloc", size, 1)
call("cuMemcpyAsync", host, memory, size, one)
assert cuda.simcuda_host_access(host, size, 0) == 0
"""
    page = shown(code)
    (race,) = page.data["races"]
    assert (page.kind(race["later"]), page.lane(race["later"])["device"]) == ("host", None)


def test_a_host_function(shown):
    code = """
function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda data: None)
call("cuLaunchHostFunc", one, function, None)
call("cuStreamSynchronize", one)
"""
    page = shown(code, status=0)
    lanes = [lane["name"] for lane in page.data["lanes"]]
    learns = page.names(lanes.index("the driver's thread"))
    assert learns == ["learns that it is done"]


def test_processes(shown):
    """Each has lanes of its own; an execution is another process."""
    again = f"os.execv(sys.executable, [sys.executable, '-c', {BEGIN + RACE!r}])"
    page = shown(f"fill(0, one)\nif len(sys.argv) == 1: {again}")
    first, second = page.data["processes"]
    assert first.split(":")[0] == second.split(":")[0]  # the same number
    assert {lane["process"] for lane in page.data["lanes"]} == {0, 1}
    (race,) = page.data["races"]
    assert page.lane(race["earlier"])["process"] == 1


def test_the_page_is_one_file(shown):
    """With nothing to fetch, whatever the program's name and arguments are."""
    page = shown(RACE)
    assert not re.search(r"(src|href)=|@import|url\(|https?:", page.text)


def test_hostile_names(tmp_path):
    program = [sys.executable, "-c", BEGIN + RACE, "</script><b>", "{{data}}", 'é\\"\n\x01']
    done = run("--report=a page.html", *program, cwd=tmp_path)
    assert done.returncode == 66
    page = Shown(tmp_path / "a page.html")
    assert page.data["processes"][0].endswith(' </script><b> {{data}} é\\"\n\x01')
    assert page.text.count("</script>") == 2


def test_a_page_of_nothing(tmp_path):
    done = run("--allow-none", "--report=page.html", "true", cwd=tmp_path)
    assert done.returncode == 0
    assert Shown(tmp_path / "page.html").data["processes"] == []


def test_seeds_show_the_one_that_failed(tmp_path):
    code = (
        BEGIN + "if os.environ['SIMCUDA_SCHEDULE'] == 'random:2':\n    fill(0, one); fill(0, two)"
    )
    done = run("--seeds=4", "--report=page.html", sys.executable, "-c", code, cwd=tmp_path)
    assert done.returncode == 66
    assert "--seed=2" in done.stderr
    assert "--report=page.html" in done.stderr
    assert len(Shown(tmp_path / "page.html").data["races"]) == 1


# Captures that end otherwise: one is refused, one another thread ends, one never ends.
CAPTURES = """
assert cuda.cuStreamBeginCapture_v2(None, 0) != 0
fill(0, one)
call("cuStreamBeginCapture_v2", one, 2)
fill(64, one)


def end():
    call("cuStreamEndCapture", one, ctypes.byref(ctypes.c_void_p()))


thread = threading.Thread(target=end)
thread.start()
thread.join()
fill(0, one)
call("cuStreamBeginCapture_v2", two, 2)
fill(128, two)
"""


def test_captures_that_end_otherwise(shown):
    page = shown(CAPTURES, status=0)
    names, groups = page.names(), page.items["group"]
    folded = [name for name, group in zip(names, groups, strict=True) if group >= 0]
    captured = ["cuStreamBeginCapture", "cuMemsetD8Async"]
    assert folded == [*captured, *captured]
    assert [page.kind(i) for i, name in enumerate(names) if name == "cuMemsetD8Async"].count(
        "memset"
    ) == 2


# For a while there is room for this many more bytes of the trace; later lines refer to lost ones.
FULL = """
import pathlib
import resource

(trace,) = pathlib.Path(os.environ["SIMCUDA_TRACE_DIR"]).glob("*.trace")
room = trace.stat().st_size + int(os.environ["ROOM"])
most = resource.getrlimit(resource.RLIMIT_FSIZE)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (room, most[1]))
fill(0, one)
resource.setrlimit(resource.RLIMIT_FSIZE, most)
fill(0, two)
call("cuStreamSynchronize", two)
"""


@pytest.mark.parametrize("room", [0, 1, 100, 200, 300, 400, 500, 600])
def test_a_disk_that_is_full(shown, monkeypatch, room):
    """What could be written is shown."""
    monkeypatch.setenv("ROOM", str(room))
    names = shown(FULL).names()
    assert names[:2] == ["cuDevicePrimaryCtxRetain", "cuStreamCreate"]
    assert names[-1] == "cuStreamSynchronize"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--report=no/such/folder/page.html"], "no/such/folder/page.html"),
        (["--trace=."], "'.'"),
        (["--report=other"], "other is another file already"),
        (["--report=page.html", "--races=off"], "--races=off"),
        (["--report=page.html", "--trace=other"], "other is another file already"),
        (["--report=page.html", "--trace=no/such/trace"], "no/such/trace"),
        (["--report=page.html", "--trace=./page.html"], "one file: page.html"),
        (["--report=page.html", "--trace=link"], "one file: page.html"),
    ],
)
def test_what_cannot_be_shown_does_not_run(tmp_path, options, told):
    (tmp_path / "other").write_text("not a page")
    (tmp_path / "link").symlink_to("page.html")
    done = run(*options, "touch", "ran", cwd=tmp_path)
    assert (tmp_path / "other").read_text() == "not a page"
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("simcuda run: ")
    assert told in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"other", "link"}


@pytest.mark.parametrize("option", ["--report=page", "--trace=page"])
@pytest.mark.parametrize(("status", "ends"), [(0, 2), (3, 3)])
def test_what_cannot_be_written_at_the_end(tmp_path, option, status, ends):
    script = f"rm page; mkdir page; exit {status}"
    done = run("--allow-none", option, "sh", "-c", script, cwd=tmp_path)
    assert done.returncode == ends
    assert "Is a directory" in done.stderr


C = """
#include <stddef.h>
int cuInit(unsigned), cuDevicePrimaryCtxRetain(void **, int), cuCtxSetCurrent(void *);
int cuStreamCreate(void **, unsigned), cuMemAlloc_v2(unsigned long long *, size_t);
int cuMemsetD8Async(unsigned long long, unsigned char, size_t, void *);
__attribute__((noinline)) static int fill(unsigned long long memory, void *stream) {
  return cuMemsetD8Async(memory, 1, 64, stream) + 0 * *(volatile int *)&(int){1};
}
int main(void) {
  void *context, *one, *two;
  unsigned long long memory;
  int wrong = cuInit(0) | cuDevicePrimaryCtxRetain(&context, 0) | cuCtxSetCurrent(context);
  wrong |= cuStreamCreate(&one, 1) | cuStreamCreate(&two, 1) | cuMemAlloc_v2(&memory, 64);
  wrong |= fill(memory, one);
  wrong |= fill(memory, two);
  return wrong;
}
"""


@pytest.mark.parametrize("how", ["-g", "-g0"])
def test_lines_of_a_program_in_c(tmp_path, how):
    """By its debug information, or else the place in the file that holds its code."""
    (tmp_path / "program.c").write_text(C)
    subprocess.run(
        ["cc", how, "program.c", simcuda.LIBRARY, "-o", "program"], cwd=tmp_path, check=True
    )
    done = run("--report=page.html", "./program", cwd=tmp_path)
    assert done.returncode == 66, done.stderr
    page = Shown(tmp_path / "page.html")
    (race,) = page.data["races"]
    for item, line in (race["earlier"], 14), (race["later"], 15):
        fill, main, *_ = page.frames(item)
        if how == "-g":
            assert fill == f"{tmp_path}/program.c:7 in fill"
            assert main == f"{tmp_path}/program.c:{line} in main"
        else:
            assert re.fullmatch(rf"{tmp_path}/program\+0x\w+ in fill", fill)
            assert re.fullmatch(rf"{tmp_path}/program\+0x\w+ in main", main)


def test_a_trace(tmp_path):
    """As Perfetto reads it: slices that do not overlap in a track, arrows with both ends."""
    done = run("--trace=trace.json", sys.executable, "-c", BEGIN + GRAPH, cwd=tmp_path)
    assert done.returncode == 66
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    by_phase = {phase: [e for e in events if e["ph"] == phase] for phase in "MXsfi"}
    assert sum(map(len, by_phase.values())) == len(events)
    ends = {}
    for event in sorted(by_phase["X"], key=lambda event: event["ts"]):
        track = event["pid"], event["tid"]
        assert event["ts"] >= ends.get(track, 0)
        ends[track] = event["ts"] + event["dur"]
    named = {(e["pid"], e["tid"]) for e in by_phase["M"] if e["name"] == "thread_name"}
    assert set(ends) <= named
    assert len({e["id"] for e in by_phase["s"]}) == len(by_phase["s"])
    begins = {e["id"]: e for e in by_phase["s"]}
    assert sorted(begins) == sorted(e["id"] for e in by_phase["f"])
    assert all(begins[e["id"]]["ts"] < e["ts"] for e in by_phase["f"])
    assert [e["name"] for e in by_phase["s"]].count("race") == 1
    assert [e["cat"] for e in by_phase["X"]].count("kernel") == 2
    assert "saxpy" in {e["name"] for e in by_phase["X"]}
    (first,) = {e["args"]["called from"] for e in by_phase["X"] if e["name"] == "cuCtxSynchronize"}
    assert re.fullmatch(r"<string>:\d+ in call", first)


def test_reports_of_failed_tests(pytester):
    pytester.makepyfile(
        test_it=f"import pytest\nBEGIN = {BEGIN!r}\n"
        "@pytest.mark.simcuda\ndef test_right():\n    exec(BEGIN, {})\n"
        "@pytest.mark.simcuda(schedules=['eager'])\n@pytest.mark.parametrize('n', ['a/b'])\n"
        f"def test_raced(n):\n    exec(BEGIN + {RACE!r}, {{}})\n"
    )
    done = pytester.runpytest_subprocess("--simcuda-report=pages", "-p", "no:hypothesispytest")
    done.assert_outcomes(passed=1, failed=1)
    (page,) = (pytester.path / "pages").iterdir()
    assert re.fullmatch(r"test_it.py-test_raced-a-b-eager-[0-9a-f]{8}\.html", page.name)
    done.stdout.fnmatch_lines([f"report: {page}"])
    assert len(Shown(page).data["races"]) == 1
    assert any("in test_raced" in line for line in Shown(page).data["strings"])
