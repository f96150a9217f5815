# SPDX-License-Identifier: BSD-3-Clause
"""What stands before NVIDIA's compilers, so that clients hand PTX to the driver. NVIDIA's wheels
are in the environment of the tests."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import compilers
import pytest
from helpers import LIMIT

import simcuda

VERSIONS = ["12", "13"]
HEAD = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from compilers import *
version = sys.argv[1]
nvrtc, linker = load("nvrtc", version), load("nvJitLink", version)
"""


def run(code, version="13", head=HEAD, **settings):
    """Runs Python's code on simcuda; returns what it wrote, the banner left out."""
    done = subprocess.run(
        simcuda.command(sys.executable, "-c", head + code, version),
        env={**os.environ, "SIMCUDA_BANNER": "0", **settings},
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def names(library, pattern):
    listed = subprocess.run(
        ["readelf", "--dyn-syms", "--wide", library], capture_output=True, text=True, check=True
    ).stdout
    defined = re.findall(r"(?:GLOBAL|WEAK) +\w+ +(?!UND)\w+ (\S+)", listed)
    return {name for name in defined if re.match(pattern, name)}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("name", "public"),
    [("nvrtc", r"nvrtc[A-Z]"), ("nvJitLink", r"nvJitLink[A-Z]|__nvJitLink\w+_\d+_\d+@")],
)
def test_they_have_every_public_function(name, public, version):
    """With the same version of the symbol, as programs want it that were linked with NVIDIA's."""
    theirs = names(compilers.wheel_of(name, version), public)
    assert len(theirs) > 10
    assert not theirs - names(simcuda.LIBRARY_DIR / f"lib{name}.so.{version}", public)


@pytest.mark.parametrize("version", VERSIONS)
def test_nvrtc_hands_over_ptx_as_a_cubin(version):
    run(
        """
made = Compiled(nvrtc, FUNCTION, ARCH)
assert b".version" in made.get("PTX")
assert made.get("CUBIN") == made.get("PTX")
assert made.get("LTOIR") == b""

virtual = Compiled(nvrtc, FUNCTION, "-arch=compute_90")
assert b".target sm_90" in virtual.get("PTX")
assert virtual.get("CUBIN") == b""

lto = Compiled(nvrtc, FUNCTION, ARCH, "-dlto", "-rdc=true")
assert len(lto.get("LTOIR")) > 100
assert lto.get("CUBIN") == b""

# And NVIDIA's own does what they are for.
real = ctypes.CDLL(str(wheel_of("nvrtc", version)))
assert Compiled(real, FUNCTION, ARCH).get("CUBIN").startswith(MACHINE_CODE)
""",
        version,
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_nvrtc_fails_as_ever(version):
    run(
        """
real = ctypes.CDLL(str(wheel_of("nvrtc", version)))
for each in (nvrtc, real):
    try:
        Compiled(each, "int f() { return nothing; }", ARCH)
    except Error as error:
        assert error.args[0] == 6 and '"nothing" is undefined' in error.args[1], error
    else:
        raise SystemExit("it compiles")
    size = ctypes.c_size_t()
    each.nvrtcGetErrorString.restype = ctypes.c_char_p
    assert each.nvrtcGetErrorString(6) == b"NVRTC_ERROR_COMPILATION"
    assert each.nvrtcGetCUBINSize(None, ctypes.byref(size)) == 4
    assert each.nvrtcGetCUBIN(None, None) == 4
    program = ctypes.c_void_p()
    assert each.nvrtcCreateProgram(ctypes.byref(program), b"", b"", 0, None, None) == 0
    assert each.nvrtcCompileProgram(program, 1, texts([ARCH])) == 0
    assert each.nvrtcGetCUBINSize(program, None) == 3
    assert each.nvrtcGetCUBIN(program, None) == 3
""",
        version,
    )


INPUTS = """
def compiled(source, *options):
    return Compiled(nvrtc, source, ARCH, "-rdc=true", *options)

kernel, function = compiled(KERNEL), compiled(FUNCTION)
kernel_ir, function_ir = (compiled(s, "-dlto").get("LTOIR") for s in (KERNEL, FUNCTION))

def entries(text):
    assert text.endswith(b"\\0") and text.count(b"\\0") == 1
    lines = [line.strip() for line in text.decode().splitlines()]
    starts = (".version", ".visible .entry")
    return [sum(line.startswith(start) for line in lines) for start in starts]
"""


@pytest.mark.parametrize("version", VERSIONS)
def test_links_come_out_as_ptx(version, tmp_path):
    (tmp_path / "a.ltoir").write_bytes(b"")
    run(
        INPUTS
        + f"folder = {str(tmp_path)!r}"
        + """
lto = [ARCH, "-lto"]
of_lto_ir = Linked(linker, lto, (LTO_IR, kernel_ir), (LTO_IR, function_ir))
assert entries(of_lto_ir.get("LinkedCubin")) == [1, 1]
assert b".extern" not in of_lto_ir.get("LinkedCubin")
assert of_lto_ir.get("LinkedPtx") == 3  # nobody asked for it
assert of_lto_ir.get("ErrorLog") == b""

of_ptx = Linked(linker, [ARCH], (PTX, kernel.get("PTX")), (PTX, function.get("PTX")))
assert entries(of_ptx.get("LinkedCubin")) == [2, 1]
of_cubins = Linked(linker, [ARCH], (CUBIN, kernel.get("CUBIN")), (ANY, function.get("CUBIN")))
assert of_cubins.get("LinkedCubin") == of_ptx.get("LinkedCubin")
of_both = Linked(linker, lto, (PTX, function.get("PTX")), (LTO_IR, kernel_ir))
assert entries(of_both.get("LinkedCubin")) == [2, 1]

for options, inputs in [
    (lto, [(LTO_IR, kernel_ir), (LTO_IR, function_ir)]),
    ([ARCH], [(PTX, kernel.get("PTX")), (PTX, function.get("PTX"))]),
]:
    limited = Linked(linker, [*options, "-maxrregcount=32"], *inputs).get("LinkedCubin").decode()
    assert limited.count(".maxnreg 32") == 1
    assert limited.index(".entry kernel") < limited.index(".maxnreg 32\\n{")

asked = Linked(linker, [*lto, "-ptx"], (LTO_IR, kernel_ir), (LTO_IR, function_ir))
assert b".entry kernel" in asked.get("LinkedPtx")
assert asked.get("LinkedCubin") == 6

files = []
for name, kind, data in [
    ("k.ptx", PTX, kernel.get("PTX")), ("f.cubin", CUBIN, function.get("CUBIN")),
    ("k.ltoir", LTO_IR, kernel_ir), ("f.ltoir", LTO_IR, function_ir),
]:
    Path(folder, name).write_bytes(data)
    files.append((kind, Path(folder, name)))
assert Linked(linker, [ARCH], *files[:2]).get("LinkedCubin") == of_ptx.get("LinkedCubin")
assert Linked(linker, lto, *files[2:]).get("LinkedCubin") == of_lto_ir.get("LinkedCubin")
""",
        version,
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_machine_code_stays_what_it_is(version):
    """Nothing can make PTX of it; the driver says so when it is to load it."""
    run(
        INPUTS
        + """
real = Compiled(ctypes.CDLL(str(wheel_of("nvrtc", version))), FUNCTION, ARCH, "-rdc=true")
made = Linked(linker, [ARCH], (PTX, kernel.get("PTX")), (CUBIN, real.get("CUBIN")))
assert made.get("LinkedCubin").startswith(MACHINE_CODE)
""",
        version,
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_bad_links_fail_as_ever(version):
    run(
        INPUTS
        + """
real = ctypes.CDLL(str(wheel_of("nvJitLink", version)))
lto = [ARCH, "-lto"]

def outcome(*arguments):
    try:
        Linked(*arguments)
    except Error as error:
        return error.args
    raise SystemExit(f"it links: {arguments}")

for given in [
    ([ARCH], (PTX, kernel.get("PTX"))),  # f is not there
    (lto, (LTO_IR, kernel_ir)),
    ([ARCH], (LTO_IR, kernel_ir)),
    ([ARCH], (PTX, b"no PTX at all")),
    ([ARCH], (PTX, b".version 8.0\\n.target sm_90\\n.nonsense")),
    ([ARCH], (CUBIN, b"no cubin at all")),
    (lto, (LTO_IR, kernel.get("PTX"))),
    (lto, (LTO_IR, kernel_ir[:100])),
    ([ARCH], (PTX, Path("/no/such/file"))),
    ([*lto, "-ptx"], (PTX, kernel.get("PTX"))),
    ([ARCH, "-no-such-option"],),
    ([ARCH, "-ptx"],),
    ([],),
]:
    assert outcome(linker, *given) == outcome(real, *given), given

for name in ("Create", "AddData", "AddFile", "Complete", "GetLinkedCubinSize", "GetLinkedCubin",
             "GetErrorLogSize", "GetErrorLog", "Destroy"):
    ours, theirs = (getattr(each, "nvJitLink" + name) for each in (linker, real))
    nothing = [None] * 5
    assert ours(*nothing) == theirs(*nothing) != 0, name
unknown = ctypes.create_string_buffer(64)
assert linker.nvJitLinkComplete(unknown) == real.nvJitLinkComplete(unknown)

whole = (lto, (LTO_IR, kernel_ir), (LTO_IR, function_ir))
made, by_real = (Linked(each, *whole) for each in (linker, real))
for name in ("GetLinkedCubinSize", "GetLinkedCubin", "GetLinkedPtxSize", "GetErrorLogSize"):
    ours, theirs = (each.function(name)(each._handle, None) for each in (made, by_real))
    assert ours == theirs != 0, (name, ours, theirs)
made.function("Complete")(made._handle)  # NVIDIA's of CUDA 12 does not mind
assert entries(made.get("LinkedCubin")) == [1, 1]
""",
        version,
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_names_with_versions(version):
    """NVIDIA's header calls each function by its version; they all are the same."""
    run(
        INPUTS
        + """
for minor in range(9):
    made = Linked(
        linker, [ARCH, "-lto"], (LTO_IR, kernel_ir), (LTO_IR, function_ir),
        prefix="__nvJitLink", suffix=f"_{version}_{minor}",
    )
    assert entries(made.get("LinkedCubin")) == [1, 1]
""",
        version,
    )


def test_threads():
    run(
        INPUTS
        + """
import threading
wrong = []

def work(number):
    for turn in range(5):
        source = "extern __device__ int f(int);"
        source += f"__device__ int g{number}_{turn}(int x) {{ return f(x); }}"
        if (number + turn) % 2:
            text = compiled(source).get("CUBIN")
            inputs = [(CUBIN, text), (PTX, function.get("PTX"))]
            made = Linked(linker, [ARCH], *inputs).get("LinkedCubin")
        else:
            source += f'extern "C" __global__ void k{number}(int *p)'
            source += f"{{ *p = g{number}_{turn}(1); }}"
            inputs = [(LTO_IR, compiled(source, "-dlto").get("LTOIR")), (LTO_IR, function_ir)]
            made = Linked(linker, [ARCH, "-lto"], *inputs).get("LinkedCubin")
        if (f"g{number}_{turn}" if (number + turn) % 2 else f"k{number}").encode() not in made:
            wrong.append((number, turn, made))

threads = [threading.Thread(target=work, args=[number]) for number in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not wrong
"""
    )


def test_first_use_by_many_threads_at_once():
    run(
        """
import threading
barrier, found = threading.Barrier(8), []

def work():
    major, minor = ctypes.c_int(), ctypes.c_int()
    barrier.wait()
    assert nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)) == 0
    assert linker.nvJitLinkVersion(ctypes.byref(major), ctypes.byref(minor)) == 0
    found.append(major.value)

threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert found == [13] * 8
"""
    )


def test_a_child_process_links_while_the_parents_threads_ask():
    run(
        INPUTS
        + """
import threading

def link():
    return Linked(linker, [ARCH], (PTX, kernel.get("PTX")), (PTX, function.get("PTX")))

made, size = link(), ctypes.c_size_t()

def work():
    while True:
        linker.nvJitLinkGetLinkedCubinSize(made._handle, ctypes.byref(size))

for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
for _ in range(50):
    child = os.fork()
    if child == 0:
        os._exit(0 if entries(link().get("LinkedCubin")) == [2, 1] else 1)
    assert os.waitpid(child, 0)[1] == 0
os._exit(0)  # without waiting for the threads
"""
    )


@pytest.fixture
def elsewhere(tmp_path):
    """The driver and its shims in a folder beside which there are no wheels."""

    def elsewhere(name="lib"):
        shutil.copytree(simcuda.LIBRARY_DIR, tmp_path / name)
        return str(tmp_path / name)

    return elsewhere


# In a process that has loaded nothing from any site-packages.
WITHOUT_WHEELS = {name: "" for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_HOME", "CUDA_PATH")}
ASK = """
import ctypes, sys
nvrtc, linker = (ctypes.CDLL(f"lib{name}.so.{sys.argv[1]}") for name in ("nvrtc", "nvJitLink"))
major, minor = ctypes.c_int(), ctypes.c_int()
where = ctypes.byref(major), ctypes.byref(minor)
nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
print(nvrtc.nvrtcVersion(*where), major.value, linker.nvJitLinkVersion(*where), major.value)
print(nvrtc.nvrtcGetErrorString(6).decode())
"""


@pytest.mark.parametrize("version", VERSIONS)
def test_says_which_wheel_is_missing(version, elsewhere):
    done = run(ASK, version, head="", SIMCUDA_LIBRARY_DIR=elsewhere(), **WITHOUT_WHEELS)
    assert done.stdout.startswith("11 0 6 0\n")
    assert "simcuda has found no NVRTC" in done.stdout
    told = done.stderr.splitlines()
    assert len(told) == 2, told  # once each
    assert (
        "nvrtcVersion needs NVIDIA's libnvrtc, and there is none: pip install nvidia-cuda-nvrtc"
        in told[0]
    )
    assert "nvJitLinkVersion" in told[1]
    assert "pip install nvidia-nvjitlink" in told[1]


@pytest.mark.parametrize("how", ["LD_LIBRARY_PATH", "CUDA_HOME", "CONDA_PREFIX", "VIRTUAL_ENV"])
def test_finds_nvidias_where_the_loader_would(how, elsewhere, tmp_path):
    folder = {
        "LD_LIBRARY_PATH": tmp_path / "here",
        "CUDA_HOME": tmp_path / "here/lib64",
        "CONDA_PREFIX": tmp_path / "here/lib",
        "VIRTUAL_ENV": tmp_path / "here/lib/python3.12/site-packages/nvidia/cu13/lib",
    }[how]
    folder.mkdir(parents=True)
    for name in ("nvrtc", "nvJitLink"):
        file = compilers.wheel_of(name, "13")
        (folder / file.name).symlink_to(file)
    settings = {"SIMCUDA_LIBRARY_DIR": elsewhere(), **WITHOUT_WHEELS, how: str(tmp_path / "here")}
    for version in VERSIONS:  # each takes the other version if its own is not there
        assert run(ASK, version, head="", **settings).stdout.startswith("0 13 0 13\n")


def test_a_folder_with_a_space_in_its_name(elsewhere):
    done = run(ASK, head="", SIMCUDA_LIBRARY_DIR=elsewhere("a b"), **WITHOUT_WHEELS)
    assert done.stdout.startswith("11 0 6 0\n")
    assert "ld.so" not in done.stderr


def test_nothing_is_loaded_before_it_is_needed():
    code = "print([line for line in open('/proc/self/maps') if '/nvidia/' in line])"
    assert run(code, head="").stdout == "[]\n"


PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
int nvrtcVersion(int *, int *);
int main(void) {
  int major, minor;
  char *bytes = malloc(4);
  if (nvrtcVersion(&major, &minor) != 0) return 1;
  printf("%d\\n", major);
  free(bytes);
  return 0;
}
"""


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("flags", [[], ["-fsanitize=address"]])
def test_a_program_that_is_linked_with_nvidias(flags, version, tmp_path):
    library = compilers.wheel_of("nvrtc", version)
    build = ["cc", *flags, "-x", "c", "-", "-o", tmp_path / "program", "-x", "none", library]
    subprocess.run(build, input=PROGRAM, text=True, check=True)
    done = subprocess.run(
        simcuda.command(tmp_path / "program"), capture_output=True, text=True, timeout=LIMIT
    )
    assert (done.returncode, done.stdout) == (0, f"{version}\n"), done.stderr
    assert not done.stderr
