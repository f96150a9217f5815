# SPDX-License-Identifier: BSD-3-Clause
"""The command `libcai`."""

import importlib
import json
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import LIMIT

import libcai
from libcai._cli import COMMANDS, doctor, main, parser_of

pytestmark = pytest.mark.slow

SCRIPT = Path(sys.executable).parent / "libcai"
PRODUCERS = """
class P:
    def __init__(self, **changes):
        self.__cuda_array_interface__ = {
            "shape": (2, 3), "typestr": "<f4", "data": (4096, False), "version": 3,
            "strides": None, "stream": None, **changes}

good = P()
bad = P(shape=[2, 3])
old = P(version=2)
readonly = P(data=(4096, True))

class group:
    inner = good

def make():
    return P()

def fail():
    raise RuntimeError("no GPU here")

class Leaving:
    @property
    def __cuda_array_interface__(self):
        raise SystemExit(0)

leaving = Leaving()
long = P(shape=(10**5000,))

class Silent:
    __repr__ = __eq__ = __hash__ = __bool__ = __len__ = __iter__ = lambda *self: 1 / 0

class silent:
    shape, typestr, data = P(shape=Silent()), P(typestr=Silent()), P(data=Silent())
    version, strides, stream = P(version=Silent()), P(strides=Silent()), P(stream=Silent())
    mask, descr = P(mask=Silent()), P(descr=Silent())
"""


@pytest.fixture
def here(tmp_path):
    (tmp_path / "producers.py").write_text(PRODUCERS, encoding="utf-8")
    return tmp_path


def command(*arguments, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "libcai", *arguments],
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


@pytest.mark.parametrize(
    ("name", "code"),
    [("good", 0), ("group.inner", 0), ("make()", 0), ("bad", 1), ("fail()", 2), ("none", 2)],
)
def test_check(here, name, code):
    done = command("check", f"producers:{name}", cwd=here)
    assert done.returncode == code, done.stderr
    assert bool(done.stdout) == (code < 2)
    assert bool(done.stderr) == (code == 2)


def test_check_as_json(here):
    good = json.loads(command("check", "--json", "producers:good", cwd=here).stdout)
    assert good == {
        "ok": True,
        "subject": "P",
        "protocol": "__cuda_array_interface__",
        "findings": good["findings"],
        "readers": good["readers"],
    }
    assert all(found["takes"] for found in good["readers"].values())
    done = command("check", "producers:bad", "--json", cwd=here)
    assert done.returncode == 1
    assert json.loads(done.stdout)["findings"][0]["entry"] == "shape"


@pytest.mark.parametrize(
    ("name", "asked", "status"),
    [
        ("old", (), 1),
        ("old", ("--as", "strict"), 1),
        ("old", ("--as", "import"), 0),
        ("old", ("--as=numba,cupy,torch",), 0),
        ("old", ("--as", "import", "--as", "strict"), 1),
        ("bad", ("--as=numba", "--as=torch"), 0),
        ("bad", ("--as=numba,cupy"), 1),
        ("bad", ("--as=cupy",), 1),
        ("readonly", ("--as=numba,cupy"), 0),
        ("readonly", ("--as=torch",), 1),
        ("readonly", (), 0),
    ],
)
def test_check_as(here, monkeypatch, told, name, asked, status):
    monkeypatch.chdir(here)
    asked = [asked] if isinstance(asked, str) else asked
    done = told("check", f"producers:{name}", *asked)
    assert (done.returncode, done.stderr) == (status, "")
    as_json = told("check", f"producers:{name}", *asked, "--json")
    assert as_json.returncode == status
    assert json.loads(as_json.stdout)["ok"] is (status == 0)


def test_check_of_what_cannot_be_shown(here, monkeypatch, told):
    """An integer of too many digits for Python, and values whose own methods fail."""
    monkeypatch.chdir(here)
    entries = ("shape", "typestr", "data", "version", "strides", "stream", "mask", "descr")
    for name in ("long", *(f"silent.{entry}" for entry in entries)):
        for reader in ("strict", "import", "numba", "cupy", "torch"):
            done = told("check", f"producers:{name}", "--as", reader)
            assert done.stderr == "", (name, reader)
            # Not every reader looks at every entry.
            assert done.returncode == 1 or reader in ("numba", "cupy", "torch"), (name, reader)


def test_check_says_who_takes_it(here, monkeypatch, told):
    monkeypatch.chdir(here)
    lines = told("check", "producers:bad").stdout.splitlines()
    assert lines[-1] == "taken by: import, numba, torch; refused by: cupy (--as NAME says more)"
    last = told("check", "producers:readonly").stdout.splitlines()[-1]
    assert last.startswith("taken by: import, numba (with warnings), ")
    first, second = told("check", "producers:readonly", "--as=numba").stdout.splitlines()
    assert first.startswith("numba takes P.__cuda_array_interface__ (numba.cuda.as_cuda_array of ")
    assert second.startswith("  warning: data: ")
    done = told("check", "producers:bad", "--as=cupy,import")
    assert done.stdout.startswith("import takes P.") is False
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["cupy", "error:", "import"]
    done = told("check", "producers:bad", "--as=cupy,pandas")
    assert done.returncode == 2
    assert "expected readers (strict, import, numba, cupy, torch)" in done.stderr
    assert "got 'pandas'" in done.stderr


def test_check_needs_no_numpy(here):
    code = "import sys; sys.modules['numpy'] = None; from libcai._cli import main; " + (
        "sys.exit(main(['check', 'producers:bad', '--as=numba,cupy,torch']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=here)
    assert (done.returncode, done.stderr) == (1, "")
    assert "cupy refuses P." in done.stdout


@pytest.mark.parametrize(
    "target", ["producers", "nowhere:x", ":x", "producers:", "json:loads", "producers:leaving"]
)
def test_nothing_to_check(here, target):
    done = command("check", target, cwd=here)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [(), ("config",), ("unknown",), ("check",)])
def test_usage(told, arguments):
    done = told(*arguments)
    assert done.returncode == 2
    assert "usage" in done.stderr


def test_config():
    answers = command(
        "config",
        "--version",
        "--includedir",
        "--libdir",
        "--cmake-dir",
        "--pkg-config-dir",
        "--cflags",
        "--libs",
        "--simcuda-dir",
    ).stdout.splitlines()
    version, include, lib, cmake, pkg_config, cflags, libs, simcuda = answers
    assert (Path(simcuda) / "libcuda.so.1").is_file()
    assert version == libcai.__version__
    assert (Path(include) / "cai.h").is_file()
    assert (Path(lib) / "libcai.so").exists()
    assert (Path(cmake) / "libcaiConfig.cmake").is_file()
    assert (Path(pkg_config) / "libcai.pc").is_file()
    assert "-I" in cflags
    assert "-lcai" in libs


def test_the_script():
    done = subprocess.run(
        [SCRIPT, "config", "--version"], capture_output=True, text=True, timeout=LIMIT
    )
    assert done.stdout.strip() == libcai.__version__


def test_a_program_builds_with_the_flags(tmp_path):
    source = tmp_path / "program.c"
    source.write_text(
        "#include <cai.h>\n"
        "int main(void) { return cai_version() == CAI_HEADER_VERSION ? 0 : 1; }\n",
        encoding="utf-8",
    )
    flags = command("config", "--cflags", "--libs").stdout
    subprocess.run(
        f"cc {source} -o {tmp_path}/program {' '.join(flags.split())}", shell=True, check=True
    )
    subprocess.run([tmp_path / "program"], check=True)


# ---- libcai sim ---------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def without_settings(monkeypatch):
    for name in [name for name in os.environ if name.startswith("SIMCUDA")]:
        monkeypatch.delenv(name)


def test_sim_is_simcuda_run():
    code = "import os, sys; print(os.environ['SIMCUDA_SCHEDULE'], *sys.argv[1:]); sys.exit(7)"
    done = command("sim", "--schedule=random:7", sys.executable, "-c", code, "--seeds", "a b")
    assert (done.returncode, done.stdout) == (7, "random:7 --seeds a b\n"), done.stderr
    assert "usage: simcuda run" in command("sim", "--help").stdout


@pytest.mark.parametrize(
    ("arguments", "beginning"),
    [
        (("sim", "true"), "libcai sim: "),
        (("config", "--simcuda-dir"), "libcai config: "),
        (("demo",), "libcai demo: there is no GPU, and "),
        (("bench",), "libcai bench: there is no GPU, and "),
    ],
)
def test_without_simcuda(arguments, beginning):
    """As where it is not installed: one line, which says what to install."""
    code = "import sys; sys.modules['simcuda'] = None; from libcai._cli import main; " + (
        f"sys.exit(main({list(arguments)}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith(beginning)
    assert done.stderr.endswith(
        "simcuda, the simulated driver, is not installed: pip install " + ("'libcai[testing]'\n")
    )
    assert done.stderr.count("\n") == 1


def test_the_package_brings_no_driver():
    """Importing all of the package loads no driver, and the package contains none."""
    code = "import libcai, libcai.cffi, libcai._core, libcai.testing\n" + (
        "assert 'libcuda' not in open('/proc/self/maps').read()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert not list(Path(libcai.__file__).resolve().parent.rglob("libcuda*"))


def test_doctor(monkeypatch):
    monkeypatch.setenv("CAI_SYNC", "1")
    done = command("doctor")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len(lines) < 40
    assert lines[0].startswith(f"libcai:      {libcai.__version__} (")
    assert lines[1].startswith("driver:      ")
    assert any(line.startswith("device:      cpu: ") for line in lines)
    assert "environment: CAI_SYNC=1" in lines
    assert "numpy " in next(line for line in lines if line.startswith("libraries: "))
    assert shutil.which("cc") in next(line for line in lines if line.startswith("tools: "))


def test_doctor_on_simcuda():
    done = command("sim", sys.executable, "-m", "libcai", "doctor", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    import simcuda

    assert found["driver"] == {"simulated": True, "file": str(simcuda.LIBRARY), "cuda": "13.0"}
    assert [text.split(":")[0] for text in found["devices"]] == ["cpu", "gpu", "gpu"]
    assert found["simcuda"] == {"version": simcuda.__version__}
    assert found["environment"]["SIMCUDA"] == "1"
    assert found["wrong"] == []


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"SIMCUDA_FAIL": "cuInit:1:100"}, "cuInit() fails with 100, CUDA_ERROR_NO_DEVICE ("),
        ({"SIMCUDA_DRIVER_VERSION": "11080"}, "expects a driver of CUDA 12.0 or newer, got 11.8"),
    ],
)
def test_doctor_finds_a_driver_that_does_not_work(monkeypatch, setting, said):
    for name, value in setting.items():
        monkeypatch.setenv(name, value)
    done = command("sim", sys.executable, "-m", "libcai", "doctor")
    assert done.returncode == 1, done.stderr
    assert said in next(line for line in done.stdout.splitlines() if line.startswith("wrong: "))
    assert "a driver that works  a driver of CUDA 12.0 or newer" in done.stdout


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("CAI_SYNC", "5", "expected 1 or 0, got '5'"),
        ("CAI_NONE", "1", "expected none or legacy, got '1'"),
        ("CAI_TRACE", "zzz", "expected 0 or 1, got 'zzz'"),
        (
            "CAI_EXPORT_STREAM",
            "no",
            "expected 1 or 0, got 'no'",
        ),
        ("CAI_MAX_PENDING_DEALLOCS_COUNT", "1.5", "expected a number of 0 or more, got '1.5'"),
        ("CAI_MAX_PENDING_DEALLOCS_RATIO", "nan", "expected a number of 0 or more, got 'nan'"),
        ("CAI_MEMORY_MANAGER", "bogus", "it is default, async, pool, managed, /path/lib.so"),
        ("CAI_MEMORY_MANAGER", "/no/lib.so", "/no/lib.so cannot be loaded"),
    ],
)
def test_doctor_finds_a_variable_that_does_not_work(monkeypatch, name, value, said):
    monkeypatch.setenv(name, value)
    done = command("doctor")
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert f"environment: {name}={value}, which does not work" in lines
    (wrong,) = (line for line in lines if line.startswith("wrong: "))
    assert wrong.startswith(f"wrong:       environment: {name}: ")
    assert said in wrong


def test_doctor_takes_what_the_library_takes(monkeypatch):
    values = [*doctor.CHOICES.values(), ("0", "17"), ("0.5", "1e3"), ("async", "managed")]
    names = [*doctor.CHOICES, *doctor.NUMBERS, "CAI_MEMORY_MANAGER"]
    for choice in 0, 1, None:
        for name, both in zip(names, values, strict=True):
            monkeypatch.setenv(name, "" if choice is None else both[choice])
        assert list(doctor.refused(doctor.environment())) == []
    libcai.set_memory_manager(None)


def test_doctor_knows_what_the_library_refuses(monkeypatch):
    """The library's own words, of each variable that it reads by itself."""
    code = "import libcai; libcai.use(libcai.zeros((3,), 'f4', device='cpu'), stream=1).__enter__()"
    for name in "CAI_SYNC", "CAI_NONE", "CAI_TRACE":
        for value in *doctor.CHOICES[name], "", "2":
            done = subprocess.run(
                [sys.executable, "-c", code],
                env={**os.environ, name: value},
                capture_output=True,
                text=True,
                timeout=LIMIT,
            )
            refused = f"the environment has {name}={value}, which is neither" in done.stderr
            assert refused is bool(list(doctor.refused({name: value}))), (name, value)


def test_doctor_finds_no_compilers(monkeypatch, told):
    """numba-cuda compiles no kernel without libNVVM."""
    what = "kernels of numba-cuda"
    monkeypatch.setattr(doctor, "installed", lambda: {"numba-cuda": "0.30.4"})
    monkeypatch.setattr(doctor, "compilers", list)
    advice = dict(json.loads(told("doctor", "--json").stdout)["advice"])
    assert advice[what] == "pip install 'numba-cuda[cu13]' ([cu12] for CUDA 12)"
    monkeypatch.setattr(doctor, "compilers", lambda: ["nvidia-nvvm"])
    assert what not in dict(json.loads(told("doctor", "--json").stdout)["advice"])


def test_doctor_says_what_to_install(monkeypatch, told):
    for name in [name for name in os.environ if name.startswith("SIMCUDA")]:
        monkeypatch.delenv(name)
    monkeypatch.setitem(sys.modules, "simcuda", None)
    monkeypatch.setattr(doctor.util, "find_spec", lambda name: None)
    monkeypatch.setattr(doctor, "installed", lambda: {"cupy-cuda12x": "14.2.0"})
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(doctor, "driver", lambda: {"error": "no such file"})
    done = told("doctor", "--json")
    assert done.returncode == 0
    advice = dict(json.loads(done.stdout)["advice"])
    assert advice == {
        "arrays on a GPU": "NVIDIA's driver, of CUDA 12.0 or newer",
        "tests without a GPU": "pip install 'libcai[testing]'",
        "arrays of numpy": "pip install numpy",
        "arrays of numba-cuda": "pip install 'numba-cuda[cu13]' ([cu12] for CUDA 12)",
        "arrays of cuda-core": "pip install cuda-core",
        "arrays of torch": "pip install torch",
        **{what: f"your system's package {package}" for what, (_, package) in doctor.TOOLS.items()},
    }
    text = told("doctor").stdout
    assert "driver:      none (no such file)" in text
    assert "simcuda:     not found" in text
    for what, how in advice.items():
        assert any(what in line and line.endswith(how) for line in text.splitlines())


def test_doctor_finds_an_installation_that_lacks_files(tmp_path, monkeypatch, told):
    import simcuda

    monkeypatch.setattr(simcuda._library, "LIBRARY", tmp_path / "libcuda.so.1")
    done = told("doctor", "--color=always")
    assert done.returncode == 1
    assert f"{RED}wrong:       simcuda: " in done.stdout
    assert f"{tmp_path}/libcuda.so.1 is missing" in done.stdout


# ---- libcai completion ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["libcai", ""], {"doctor", "check", "demo", "bench", "sim", "config", "completion"}),
        (["libcai", "do"], {"doctor"}),
        (["libcai", "check", "--"], {"--as", "--json", "--color", "--help"}),
        (["libcai", "doctor", "--color", ""], {"auto", "always", "never"}),
        (["libcai", "demo", "--pack", "prod"], {"producers.py"}),
        (["libcai", "sim", "prod"], {"producers.py"}),
    ],
)
def test_bash_completes(here, typed, offered):
    words = " ".join(map(shlex.quote, typed))
    asked = f"""
        source /dev/stdin <<< "$({shlex.join([sys.executable, "-m", "libcai"])} completion bash)"
        COMP_WORDS=({words}); COMP_CWORD={len(typed) - 1}
        complete -p libcai > /dev/null || exit 1
        function=$(complete -p libcai | sed 's/.* -F \\([^ ]*\\) .*/\\1/')
        $function libcai {shlex.quote(typed[-1])} {shlex.quote(typed[-2])}
        printf '%s\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "-c", asked], capture_output=True, text=True, timeout=LIMIT, cwd=here
    )
    assert done.returncode == 0, done.stderr
    assert offered <= set(done.stdout.split()), done


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_can_read_their_scripts(tmp_path, shell):
    script = command("completion", shell).stdout
    for name in COMMANDS:
        assert name in script
    (tmp_path / "script").write_text(script, encoding="utf-8")
    done = subprocess.run([shell, "-n", tmp_path / "script"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_completion_without_shtab(monkeypatch, told):
    monkeypatch.setitem(sys.modules, "shtab", None)
    done = told("completion", "bash")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "libcai completion: shtab is not installed: pip install 'libcai[completion]'\n"
    )


# ---- The command as a whole ---------------------------------------------------------------------


def test_help_names_every_command():
    done = command("--help")
    assert done.returncode == 0
    for name in COMMANDS:
        assert re.search(rf"^    {name}\s", done.stdout, re.MULTILINE)
    assert "exit status" in done.stdout.lower()


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "sim"])
def test_help_of_each_command(name):
    done = command(name, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: libcai {name} ")
    assert len(done.stdout.splitlines()) > 8
    assert "\x1b" not in done.stdout
    assert "\nExamples:\n  " in done.stdout
    assert "\nExit status: 0" in done.stdout


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "sim"])
def test_examples_are_commands(name):
    module = importlib.import_module(f"libcai._cli.{name}")
    for example in module.EXAMPLES:
        (given,) = re.findall(r"(?:^|\$\()libcai ([^)>]*)", re.sub(r"\(\)", "", example))
        given = re.split(" {3,}", given)[0].removeprefix("sim libcai ")
        options = parser_of(*COMMANDS).parse_args(shlex.split(given))
        assert options.run is module.run


def test_only_what_is_asked_for_is_loaded():
    """A command does not wait for the modules of the others."""
    code = "import sys; from libcai._cli import main; main(['config', '--version']); " + (
        "print({n for n in sys.modules if n.startswith('libcai._cli.')})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    loaded = set(eval(done.stdout.splitlines()[1]))
    commands = {f"libcai._cli.{name}" for name in COMMANDS}
    assert loaded & commands == {"libcai._cli.config"}


def test_version():
    assert command("--version").stdout == f"libcai {libcai.__version__}\n"


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        ("chek", "did you mean check?"),
        ("demos", "did you mean demo?"),
        ("xyz", "there are doctor,"),
    ],
)
def test_an_unknown_command(told, given, advice):
    done = told(given)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"there is no command {given!r}: {advice}" in done.stderr


@pytest.mark.parametrize("arguments", [("doctor",), ("--help",), ("sim", "--help"), ("demo",)])
def test_nobody_reads_the_output(arguments):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "libcai", *arguments],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        timeout=LIMIT,
    )
    os.close(write)
    assert done.stderr == ""
    # Without a buffer, argparse sees the error itself, and passes over it.
    assert done.returncode == 141 or (done.returncode == 0 and "--help" in arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        ("doctor",),
        ("check", "producers:good"),
        ("check", "producers:bad"),
        ("config", "--libdir"),
        ("--help",),
        ("demo",),
    ],
)
def test_output_that_cannot_be_written(here, arguments):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "libcai", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=LIMIT,
            cwd=here,
        )
    told = done.stderr.splitlines()
    assert done.returncode == 2, told
    assert told[-1] == "libcai: [Errno 28] No space left on device"
    assert len(told) == 1 or arguments == ("demo",)  # which may start again on simcuda


@pytest.mark.parametrize("arguments", [("doctor",), ("check", "producers:good")])
def test_no_output_at_all(here, arguments):
    command = shlex.join([sys.executable, "-m", "libcai", *arguments])
    done = subprocess.run(f"{command} >&- 2>&-", shell=True, cwd=here, timeout=LIMIT)
    assert done.returncode == 0


def on_terminals(*arguments, **environment):
    """Starts the command in a session of its own, with a terminal for its output and one for its
    errors: (process, their ends here)."""
    out, err = pty.openpty(), pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "libcai", *arguments],
        stdout=out[1],
        stderr=err[1],
        start_new_session=True,
        env={**os.environ, "TERM": "xterm", **environment},
    )
    os.close(out[1])
    os.close(err[1])
    return process, out[0], err[0]


def read_until(terminal, text=None):
    """The output on a terminal, up to a text or to its end."""
    found = b""
    while text is None or text not in found:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # the end, on Linux
            break
        found += part
    return found


RED, GREEN = "\x1b[31m", "\x1b[32m"


@pytest.mark.parametrize(
    ("options", "environment", "coloured"),
    [
        ((), {}, True),
        ((), {"NO_COLOR": "1"}, False),
        ((), {"NO_COLOR": ""}, True),
        ((), {"TERM": "dumb"}, False),
        (("--color=never",), {}, False),
        (("--color", "always"), {"TERM": "dumb", "NO_COLOR": "1"}, True),
    ],
)
def test_colours_on_a_terminal(here, monkeypatch, options, environment, coloured):
    monkeypatch.chdir(here)
    monkeypatch.delenv("NO_COLOR", raising=False)
    process, out, err = on_terminals("check", "producers:bad", *options, **environment)
    found = read_until(out).decode()
    assert process.wait() == 1
    assert (RED in found) is coloured
    assert "does not follow the text" in found
    os.close(out)
    os.close(err)


def test_no_colours_elsewhere(here):
    assert "\x1b" not in command("check", "producers:bad", cwd=here).stdout
    always = command("check", "producers:good", "--color=always", cwd=here).stdout
    assert always.startswith(GREEN)
    assert (
        "\x1b" not in command("check", "producers:bad", "--json", "--color=always", cwd=here).stdout
    )


# ---- libcai bench -------------------------------------------------------------------------------


def test_bench():
    found = json.loads(command("bench", "--rounds=5", "--json").stdout)
    assert found["libcai"] == libcai.__version__
    assert found["driver"] == "simulated"
    firsts = {}
    for row in found["rows"]:
        first = firsts.setdefault(row["section"], row)
        assert row["ratio"] == pytest.approx(row["min_ns"] / first["min_ns"], rel=0.1, abs=0.02)
    assert {row["library"] for section, row in firsts.items() if section != "call"} == {"libcai"}
    assert set(firsts) == {"read", "use", "write", "dlpack", "call"}
    measured = {"libcai", "numba-cuda", "cuda.core", "NumPy", "tvm-ffi", "mpi4py"}
    assert measured <= {row["library"] for row in found["rows"]}
    assert measured.isdisjoint(found["not_measured"])


def test_bench_without_any_other_library():
    others = ["numba", "cuda.core", "cupy", "torch", "numpy", "tvm_ffi", "mpi4py"]
    code = f"import sys; sys.modules.update(dict.fromkeys({others}))\n" + (
        "from libcai._cli import main; sys.exit(main(['bench', '--rounds=1']))"
    )
    done = command("sim", "--races=off", sys.executable, "-c", code)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].endswith("simulated driver (simcuda): host-side costs only")
    assert sum(line.startswith("  libcai ") for line in lines) == 5
    assert len([line for line in lines if line.startswith("not measured: ")]) == len(others)


@pytest.mark.parametrize("rounds", ["0", "-1", "x", "1.5"])
def test_bench_names_a_bad_value(told, rounds):
    done = told("bench", f"--rounds={rounds}")
    assert done.returncode == 2
    assert repr(rounds) in done.stderr


def test_bench_is_interrupted():
    """It tells a terminal how far it is, and ends without a word."""
    process, out, err = on_terminals("bench", "--rounds=1000000", "--json")
    assert b"importing numba-cuda" in read_until(err, b"round 2 of 1000000")
    os.killpg(process.pid, signal.SIGINT)
    rest = read_until(err).decode()
    assert process.wait(timeout=LIMIT) == 130
    assert "Traceback" not in rest
    assert read_until(out) == b""
    os.close(out)
    os.close(err)


@pytest.mark.parametrize("name", ["bench", "demo"])
def test_without_any_device(name):
    done = command("sim", "--devices=0", sys.executable, "-m", "libcai", name)
    assert done.returncode == 2
    assert f"libcai {name}: the simulated driver has no device" in done.stderr
