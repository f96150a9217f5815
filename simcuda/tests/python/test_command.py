# SPDX-License-Identifier: BSD-3-Clause
"""The command `simcuda`, and the package's own functions."""

import contextlib
import importlib.metadata
import itertools
import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import LIMIT, PROJECT, eventually

import simcuda
from simcuda import _library, _run
from simcuda._command import main, parser_of

SCRIPT = Path(sys.executable).parent / "simcuda"


def command(*arguments, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "simcuda", *arguments],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        cwd=cwd,
    )


@pytest.fixture
def told(capsys):
    """As command(), of what needs no process of its own: wrong arguments."""

    def told(*arguments):
        try:
            status = main(list(arguments))
        except SystemExit as end:
            status = end.code
        return subprocess.CompletedProcess(arguments, status, *capsys.readouterr())

    return told


# Which driver a process finds, and what cuInit says.
DRIVER = """
import ctypes, sys
status = ctypes.CDLL("libcuda.so.1").cuInit(0)
path = [line.split(None, 5)[5].strip() for line in open("/proc/self/maps") if "libcuda" in line][0]
print(status, path, *sys.argv[1:])
"""
COUNT = """
import ctypes
count = ctypes.c_int()
cuda = ctypes.CDLL("libcuda.so.1")
print(cuda.cuInit(0), cuda.cuDeviceGetCount(ctypes.byref(count)), count.value)
"""
SETTINGS = """
import os
print(*(os.environ.get("SIMCUDA_" + name) for name in ("SCHEDULE", "RACES", "STRICT", "DEVICES")))
"""


@pytest.fixture(autouse=True)
def without_settings(monkeypatch):
    for name in [name for name in os.environ if name.startswith("SIMCUDA")]:
        monkeypatch.delenv(name)


def test_a_program_runs_on_the_packages_driver():
    done = command("run", "--allow-none", sys.executable, "-c", DRIVER, "--seeds", "a b", "", "*")
    assert (done.returncode, done.stdout) == (0, f"0 {simcuda.LIBRARY} --seeds a b  *\n"), (
        done.stderr
    )
    assert "simulation" in done.stderr


def test_passes_on_what_is_after_two_dashes():
    done = command("run", "--devices=1", "--", sys.executable, "-c", COUNT)
    assert done.stdout == "0 0 1\n", done.stderr


def test_sets_what_it_is_told():
    program = [sys.executable, "-c", SETTINGS]
    assert command("run", *program).stdout == "None None None None\n"
    given = ["--schedule=random:7", "--races", "count", "--strict", "--devices=3"]
    assert command("run", *given, *program).stdout == "random:7 count 1 3\n"
    assert command("run", "--seed=7", *program).stdout == "random:7 None None None\n"


def test_says_which_call_did_not_fail():
    done = command("run", "--fail=cuDeviceGet:3:2", sys.executable, "-c", COUNT)
    assert "cuDeviceGet was to fail in its call 3, and was called 0 times" in done.stderr
    done = command("run", "--fail=cuDeviceGetCount:1:101", sys.executable, "-c", COUNT)
    assert "was to fail" not in done.stderr


@pytest.mark.parametrize("arguments", [("config", "--library-dir"), ("--help",), ("run", "--help")])
def test_output_that_cannot_be_written(arguments):
    how = {"stderr": subprocess.PIPE, "text": True, "timeout": LIMIT}
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "simcuda", *arguments], stdout=full, **how)
    assert done.returncode == 2
    assert done.stderr == "simcuda: [Errno 28] No space left on device\n"
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-m", "simcuda", *arguments], stdout=write, **how)
    os.close(write)
    # Without a buffer, argparse sees the error itself, and passes over it.
    assert done.returncode == 141 or (done.returncode == 0 and "--help" in arguments)
    assert done.stderr == ""


def test_no_device_at_all(told):
    done = command("run", "--devices=0", sys.executable, "-c", COUNT)
    assert done.stdout.startswith("100 "), done  # CUDA_ERROR_NO_DEVICE
    assert "from 0, for a driver that finds none, to 16" in " ".join(
        told("run", "--help").stdout.split()
    )


def test_a_program_without_a_name(told):
    done = told("run", "")
    assert (done.returncode, done.stderr) == (127, "simcuda run: the PROGRAM has no name\n")


def test_makes_a_call_fail():
    done = command("run", "--fail=cuInit:1:2,cuDeviceGetCount:1:101", sys.executable, "-c", COUNT)
    assert done.stdout == "2 101 0\n", done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("--schedule", "soon"),
        ("--schedule", "random"),
        ("--schedule", "random:-1"),
        ("--schedule", f"random:{2**64}"),
        ("--seed", "x"),
        ("--seed", "-1"),
        ("--seeds", "0"),
        ("--races", "maybe"),
        ("--devices", "17"),
        ("--devices", "٣"),
        ("--fail", "cuInit"),
        ("--fail", "cuInit:0:2"),
        ("--fail", "cuInit:1:2,"),
        ("--fail", "cuNothing:1:2"),
        ("--fail", "cuInit:1:2,cuMemAlloc_v2:1:2"),
    ],
)
def test_names_a_bad_value(told, arguments):
    done = told("run", *arguments, "true")
    assert done.returncode == 2
    assert arguments[0] in done.stderr
    wrong = arguments[1].rpartition(",")[2]
    assert repr(wrong) in done.stderr or repr(wrong.partition(":")[0]) in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--",),
        ("--strict",),
        ("--colour", "true"),
        ("--", "--colour", "true"),
        ("--seed=1", "--seeds=2", "true"),
    ],
)
def test_usage(told, arguments):
    done = told("run", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "usage: simcuda run" in done.stderr
    assert "--colour" not in arguments or "--colour" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("script", "status"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", -9), ("exit 66", 66)]
)
def test_ends_as_the_program_does(script, status):
    done = command("run", "--allow-none", "sh", "-c", script)
    assert done.returncode in (status, 128 - status)


def test_says_what_cannot_be_run():
    for program, status in (("/no/such/program", 127), ("/", 126)):
        done = command("run", program)
        assert done.returncode == status
        assert program in done.stderr
        assert "driver call" not in done.stderr


# Fails under the given seed, and prints the seed that it ran under.
SEEDED = """
import os, sys
seed = os.environ["SIMCUDA_SCHEDULE"]
print(seed, flush=True)
if seed == "random:" + sys.argv[1]:
    os.kill(os.getpid(), 15) if sys.argv[2] == "killed" else sys.exit(int(sys.argv[2]))
"""


def test_a_program_whose_path_has_an_equals_sign(tmp_path):
    program = tmp_path / "a=b"
    program.write_text('#!/bin/sh\necho "$0 $1"\n')
    program.chmod(0o755)
    assert command("run", "--allow-none", program, "c=d").stdout == f"{program} c=d\n"


def test_runs_under_seeds():
    program = [sys.executable, "-c", SEEDED]
    done = command("run", "--allow-none", "--seeds=3", *program, "4", "1")
    assert done.returncode == 0
    assert done.stdout == "random:1\nrandom:2\nrandom:3\n"
    assert done.stderr.endswith("3 seeds: no race, no failure\n")


@pytest.mark.parametrize("how", ["count", "off"])
def test_seeds_say_that_nobody_looked_for_races(how):
    done = command("run", "--allow-none", "--seeds=2", f"--races={how}", "true")
    assert done.returncode == 0
    assert done.stderr.endswith(f"2 seeds: no failure (races: {how})\n")


def test_seeds_pass_signals_on(tmp_path):
    """A signal that stops the runner stops the program."""
    code = (
        f"import os, pathlib, time; pathlib.Path({str(tmp_path / 'here')!r}).write_text('x'); "
        + ("time.sleep(7357)")
    )
    arguments = [sys.executable, "-m", "simcuda", "run", "--seeds=3", sys.executable, "-c", code]
    with subprocess.Popen(arguments, stderr=subprocess.PIPE) as process:
        assert eventually((tmp_path / "here").exists)
        process.terminate()
        assert b"seed 1: the program ended with 143" in process.communicate(timeout=LIMIT)[1]
    assert process.returncode == 143


@pytest.mark.parametrize(("how", "status", "told"), [("5", 5, "with 5"), ("killed", 143, "15")])
def test_stops_at_the_first_bad_seed(how, status, told):
    done = command(
        "run", "--allow-none", "--seeds=9", "--strict", sys.executable, "-c", SEEDED, "2", how
    )
    assert done.returncode == status
    assert done.stdout == "random:1\nrandom:2\n"
    assert "seed 2" in done.stderr
    assert told in done.stderr
    # It prints the command that repeats it.
    again = shlex.split(done.stderr.partition("again: simcuda ")[2])
    once = command(*again)
    assert once.returncode in (status, 128 + 15, -15)
    assert once.stdout == "random:2\n"


def test_in_a_package_without_its_library(tmp_path):
    copy = tmp_path / "simcuda"
    shutil.copytree(Path(simcuda.__file__).parent, copy, ignore=lambda *_: ["libcuda.so.1"])
    done = command("run", "true", cwd=tmp_path)
    assert done.returncode == 2
    library = copy / "lib/libcuda.so.1"
    assert done.stderr == (
        f"simcuda run: this installation of simcuda is not whole: {library} is missing\n"
    )


def test_only_run_makes_it_the_driver():
    """Importing the package loads no driver, and finds none."""
    code = "import simcuda; assert 'libcuda' not in open('/proc/self/maps').read()"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert list(Path(simcuda.__file__).parent.rglob("libcuda*")) == [simcuda.LIBRARY]


def test_config(tmp_path):
    done = command("config", "--library-dir", "--include-dir", "--cflags")
    library, include, flags = done.stdout.splitlines()
    assert (Path(library) / "libcuda.so.1") == simcuda.LIBRARY
    source = "#include <simcuda.h>\nint main(void) { return SIMCUDA_LOSE_DEVICE + 1; }"
    assert (Path(include) / "simcuda.h").is_file()
    program = tmp_path / "program"
    compile = ["cc", *shlex.split(flags), "-x", "c", "-", "-o", program]
    subprocess.run(compile, input=source, text=True, check=True)
    assert subprocess.run([program]).returncode == 0


def test_seeds_tell_a_terminal_how_far_they_are(monkeypatch):
    """Every two seconds; this clock counts how often it is read."""
    end, terminal = pty.openpty()
    clock = itertools.count()
    monkeypatch.setattr(_run, "monotonic", lambda: next(clock))
    with os.fdopen(terminal, "w") as stderr:
        monkeypatch.setattr(sys, "stderr", stderr)
        assert main(["run", "--allow-none", "--quiet", "--seeds=6", "true"]) == 0
        monkeypatch.undo()
    said = b""
    with contextlib.suppress(OSError):  # there is no more: the terminal's other end is closed
        while more := os.read(end, 4096):
            said += more
    os.close(end)
    assert said.decode().splitlines() == [
        "simcuda run: seed 3 of 6",
        "simcuda run: seed 6 of 6",
        "simcuda run: 6 seeds: no race, no failure",
    ]


@pytest.mark.parametrize("name", ["run", "config", "completion"])
def test_help_ends_with_examples_and_exit_statuses(told, name):
    done = told(name, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    head, _, examples = done.stdout.partition("\nExamples:\n")
    assert head.startswith(f"usage: simcuda {name} ")
    lines = examples.partition("\n\n")[0].splitlines()
    assert lines
    assert "\nExit status: " in examples
    for line in lines:
        found = re.findall(r"simcuda (config [^)]*|[^)>]*)", line)
        for given in found:
            arguments = shlex.split(re.split(" {2,}", given)[0])
            assert parser_of()[0].parse_args(arguments).run, line


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["simcuda", ""], {"run", "config", "completion"}),
        (["simcuda", "run", "--se"], {"--seed", "--seeds"}),
        (["simcuda", "run", "--races", ""], {"log", "off", "count", "abort"}),
        (["simcuda", "run", "prog"], {"program.py"}),
    ],
)
def test_bash_completes(tmp_path, typed, offered):
    (tmp_path / "program.py").touch()
    words = " ".join(map(shlex.quote, typed))
    asked = f"""
        source /dev/stdin <<< "$({shlex.join([sys.executable, "-m", "simcuda"])} completion bash)"
        COMP_WORDS=({words}); COMP_CWORD={len(typed) - 1}
        function=$(complete -p simcuda | sed 's/.* -F \\([^ ]*\\) .*/\\1/')
        $function simcuda {shlex.quote(typed[-1])} {shlex.quote(typed[-2])}
        printf '%s\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "-c", asked], capture_output=True, text=True, timeout=LIMIT, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert offered <= set(done.stdout.split()), done


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_can_read_their_scripts(tmp_path, shell):
    script = command("completion", shell).stdout
    assert "schedule" in script
    (tmp_path / "script").write_text(script, encoding="utf-8")
    done = subprocess.run([shell, "-n", tmp_path / "script"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_completion_without_shtab(monkeypatch, told):
    monkeypatch.setitem(sys.modules, "shtab", None)
    done = told("completion", "bash")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "simcuda completion: shtab is not installed: pip install 'simcuda[completion]'\n"
    )


@pytest.mark.parametrize("arguments", [(), ("config",), ("jump",), ("config", "--nothing")])
def test_usage_of_the_command(told, arguments):
    done = told(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "usage" in done.stderr


def test_the_script():
    done = subprocess.run([SCRIPT, "run", "sh", "-c", "exit 3"], timeout=LIMIT)
    assert done.returncode == 3


def test_version():
    version = importlib.metadata.version("simcuda")
    assert simcuda.__version__ == version
    assert command("--version").stdout == f"simcuda {version}\n"
    newest = re.search(r"^## (\S+)", (PROJECT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest[1] == version


def test_nothing_else_is_in_the_wheel():
    files = importlib.metadata.files("simcuda")
    tops = {file.parts[0] for file in files} - {".."}  # "..": the command, in bin
    assert tops == {"simcuda", f"simcuda-{importlib.metadata.version('simcuda')}.dist-info"}


@pytest.mark.parametrize("library", ["libcuda.so.1", *_library.SHIMS])
def test_a_library_needs_nothing_but_the_c_library(library):
    dynamic = readelf("--dynamic", library)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    assert needed
    assert all(re.match(r"(libc|libm|libpthread|libdl|librt|ld-linux.*)\.so", n) for n in needed)
    assert re.findall(r"\(SONAME\).*\[(.*)\]", dynamic) == [library]
    assert not re.search(r"\((RPATH|RUNPATH|TEXTREL)\)", dynamic)
    assert ".symtab" not in readelf("--sections", library)  # stripped


def readelf(what, library):
    arguments = ["readelf", what, "--wide", simcuda.LIBRARY_DIR / library]
    return subprocess.run(arguments, capture_output=True, text=True, check=True).stdout


# ---- What a program may do with the package ------------------------------------------------------

# Every function of Exports, and its every error.
EXPORTS = """
import ctypes
import simcuda

sim, cuda = simcuda.Exports(), ctypes.CDLL("libcuda.so.1")
size = ctypes.c_size_t(64)


def call(name, *arguments):
    status = getattr(cuda, name)(*arguments)
    assert status == 0, (name, status)


def new(name, *arguments):
    made = ctypes.c_void_p()
    call(name, ctypes.byref(made), *arguments)
    return made


def refused(text, function, *arguments):
    try:
        function(*arguments)
    except ValueError as error:
        assert text in str(error), error
    else:
        raise AssertionError(text)


refused("device 0", sim.lose_device, 0)  # before cuInit
call("cuInit", 0)
call("cuCtxSetCurrent", new("cuDevicePrimaryCtxRetain", 0))
one, other = new("cuStreamCreate", 1), new("cuStreamCreate", 1)
assert sim.objects("CUstream") == 2
refused("type 'CUnothing'", sim.objects, "CUnothing")
memory = ctypes.c_uint64()
call("cuMemAlloc_v2", ctypes.byref(memory), size)
sim.reset_counts()
call("cuMemsetD8Async", memory, 1, size, one)
first = sim.last_work()
assert sim.pending() == 1
call("cuStreamSynchronize", one)
assert sim.pending() == 0
call("cuMemsetD8Async", memory, 2, size, other)
second = sim.last_work()
assert sim.ordered(first, second) and not sim.ordered(second, first)
refused("no mark", sim.ordered, first, 1 << 40)
assert (sim.calls("cuMemsetD8Async"), sim.calls()) == (2, 3)
refused("function 'cuNothing'", sim.calls, "cuNothing")
assert sim.races() == 0
call("cuMemsetD8Async", memory, 3, size, one)
assert sim.races() == 1
sim.forget()
assert sim.races() == 0 and sim.calls("cuMemsetD8Async") == 3
host = new("cuMemHostAlloc", size, 1)
call("cuMemcpyAsync", host, memory, size, one)
sim.host_access(host.value, 64)
assert sim.races() == 1
sim.host_access(host.value, 64, write=True)
refused("64 bytes at 0x", sim.host_access, memory.value, 64)  # of a device
sim.fail("cuStreamQuery", 2, 600)
call("cuStreamQuery", None)
assert cuda.cuStreamQuery(None) == 600
refused("'cuNothing'", sim.fail, "cuNothing", 1, 2)
sim.busy(one.value, 1000)
try:
    sim.busy(4096, 1000)
except RuntimeError as error:
    assert "the driver returned 400" in str(error), error
else:
    raise AssertionError
sim.reseed(3)
for function, *wrong in (
    (sim.calls, 1), (sim.calls, b"x"), (sim.objects, None), (sim.fail, None, 1, 1),
    (sim.fail, "cuInit", 1.0, 1), (sim.host_access, None, 8), (sim.host_access, "abc", 8),
    (sim.busy, "abc", 1), (sim.ordered, first, None), (sim.lose_device, True), (sim.reseed, "1"),
):
    try:
        function(*wrong)
    except TypeError as error:
        assert " is " in str(error), error
    else:
        raise AssertionError((function, wrong))
for function, *wrong in (
    (sim.lose_device, 1 << 32), (sim.lose_device, -1), (sim.fail, "cuInit", -1, 2),
    (sim.fail, "cuInit", 1 << 64, 2), (sim.fail, "cuInit", 1, 1 << 32), (sim.reseed, -1),
    (sim.busy, 1 << 64, 1), (sim.busy, 0, -1), (sim.host_access, host.value, -1),
):
    refused("and not from", function, *wrong)
assert cuda.cuTexRefCreate(ctypes.byref(ctypes.c_void_p())) == 801
assert sim.unsupported() == 1
sim.reset()
assert sim.calls() == sim.races() == sim.unsupported() == 0
refused("device 16", sim.lose_device, 16)
sim.lose_device(0)
assert cuda.cuCtxSynchronize() == 999
"""


@pytest.mark.parametrize("schedule", ["lazy", "random:1"])
def test_exports(schedule):
    options = [f"--schedule={schedule}", "--races=count"]
    done = command("run", *options, sys.executable, "-W", "error", "-c", EXPORTS)
    assert done.returncode == 0, done.stderr


def test_exports_of_another_driver(tmp_path):
    driver = tmp_path / "libcuda.so.1"
    compile = ["cc", "-shared", "-o", driver, "-x", "c", "-"]
    subprocess.run(compile, input="int cuInit(unsigned flags) { return (int)flags; }", text=True)
    code = "import simcuda; simcuda.Exports()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert "RuntimeError: this process has another driver than simcuda" in done.stderr


def test_command_and_environment():
    """The parts that a custom runner needs."""
    code = "import ctypes; print(ctypes.CDLL('libcuda.so.1').cuInit(0))"
    settings = simcuda.environment(os.environ, schedule="eager", devices=0, races="off", fail=None)
    done = subprocess.run(
        simcuda.command(sys.executable, "-c", code), env=settings, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "100\n"), done.stderr  # no device
    assert settings["SIMCUDA_SCHEDULE"] == "eager"
    assert "SIMCUDA_FAIL" not in settings
    assert "SIMCUDA_STRICT" not in settings
