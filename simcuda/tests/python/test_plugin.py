# SPDX-License-Identifier: BSD-3-Clause
"""The pytest marker simcuda, in other projects.

One project holds all the tests that end in some way; it is run once, and looked at from all sides.
"""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from helpers import LIMIT, eventually

from simcuda import _library

pytest_plugins = ["pytester"]

# Two pieces of work on two streams, with or without a wait between them.
DRIVING = """
import ctypes


def work(*, wait):
    cuda, size = ctypes.CDLL("libcuda.so.1"), ctypes.c_size_t(64)

    def call(name, *arguments):
        status = getattr(cuda, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name} returned {status}")

    def new(name, *arguments):
        made = ctypes.c_void_p()
        call(name, ctypes.byref(made), *arguments)
        return made

    call("cuInit", 0)
    call("cuCtxSetCurrent", new("cuDevicePrimaryCtxRetain", 0))
    one, other = new("cuStreamCreate", 1), new("cuStreamCreate", 1)
    data, host = new("cuMemAllocAsync", size, one), new("cuMemHostAlloc", size, 1)
    call("cuMemsetD8Async", data, 7, size, one)
    if wait:
        event = new("cuEventCreate", 2)
        call("cuEventRecord", event, one)
        call("cuStreamWaitEvent", other, event, 0)
    call("cuMemcpyAsync", host, data, size, other)
    call("cuStreamSynchronize", other)
    return ctypes.string_at(host.value, 64)
"""

CONFTEST = """
import os
import subprocess
import time

import pytest


# The hanging test has half a second, which begins only when it hangs: before that, a busy machine
# may need longer for its process.
class Popen(subprocess.Popen):
    def wait(self, timeout=None):
        while timeout == 0.5 and self.poll() is None and not os.path.exists("hanging"):
            time.sleep(0.01)
        return super().wait(timeout)


subprocess.Popen = Popen


def pytest_addoption(parser):
    parser.addoption("--backend", default="none")


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    (tmp_path_factory.mktemp("shared") / "file").write_text("made once")
    return object()


@pytest.fixture
def backend(request):
    return request.config.getoption("backend")
"""

PROJECT = """
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

import pytest
from driving import work

simcuda = pytest.mark.simcuda


@simcuda
def test_ordered(shared, tmp_path, backend):
    assert work(wait=True) == bytes([7]) * 64
    assert backend == "mine"
    (tmp_path / "kept").write_text("x")


@simcuda(schedules=["eager", "lazy"])
def test_raced():
    assert len(work(wait=False)) == 64


@simcuda(races="off")
def test_raced_unseen():
    work(wait=False)


@simcuda(schedules="lazy")
def test_raced_and_wrong(capfd):
    print("not shown")
    capfd.readouterr()
    print("what it saw", work(wait=False)[:1].hex())
    assert False, "my message"


@simcuda
@pytest.mark.parametrize(
    "x", ["a b", "c[d]::e", "\\u00e9\\u2028", "q\\"'$;`*", "", "-k", "../up", "%s\\\\n"]
)
def test_odd(x):
    work(wait=True)
    print("<" + x + ">")


class TestOuter:
    class TestInner:
        @simcuda
        def test_ordered(self):
            work(wait=True)

        @simcuda
        def test_raced(self):
            work(wait=False)


@simcuda
class TestAll:
    def test_ordered(self):
        work(wait=True)


class Old(unittest.TestCase):
    def setUp(self):
        self.made = 3

    @simcuda
    def test_ordered(self):
        work(wait=True)
        self.assertEqual(self.made, 3)

    @simcuda
    def test_fails(self):
        work(wait=True)
        self.assertEqual(self.made, 4)


@simcuda
def test_fails():
    work(wait=True)
    print("said before")
    print("and on the other", file=sys.stderr)
    seven = 7
    assert seven == 8


@pytest.fixture
def broken():
    raise OSError("no such fixture today")


@simcuda
def test_setup_fails(broken):
    pass


@pytest.fixture
def breaks_later():
    yield
    raise OSError("it does not go away")


@simcuda
def test_teardown_fails(breaks_later):
    work(wait=True)


@simcuda
def test_no_fixture(nobody_made_it):
    pass


@pytest.fixture
def races_later():
    yield
    work(wait=False)


@simcuda
def test_races_in_teardown(races_later):
    work(wait=True)


@simcuda
def test_no_call():
    pass


@simcuda(calls=0)
def test_no_call_allowed():
    pass


@simcuda(calls=10**6)
def test_too_few_calls():
    work(wait=True)


@simcuda(calls=0)
def test_child_races():
    subprocess.run([sys.executable, "-c", "from driving import work; work(wait=False)"], check=True)


@simcuda
def test_segfault():
    work(wait=True)
    os.kill(os.getpid(), signal.SIGSEGV)


@simcuda
def test_exits():
    os._exit(0)


@simcuda
def test_exits_late():
    import atexit

    work(wait=True)
    atexit.register(os._exit, 9)


@simcuda(timeout=0.5)
def test_hangs():
    work(wait=True)
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(7357)"])
    pathlib.Path("other").write_text(str(other.pid))
    pathlib.Path("hanging").touch()
    time.sleep(7357)


@simcuda
def test_skips():
    pytest.skip("not today")


@simcuda
@pytest.mark.skipif(True, reason="never here")
def test_skip_mark():
    pass


@simcuda
@pytest.mark.xfail(reason="known")
def test_xfail():
    work(wait=False)


@simcuda
@pytest.mark.xfail(reason="fixed", strict=True)
def test_xpass():
    work(wait=True)


@simcuda
def test_xfail_inside():
    work(wait=True)
    pytest.xfail("found out")


@simcuda(
    schedules=["lazy", "eager", "random:5"], seeds=2, devices=3, strict=True, env={"MINE": "1"}
)
def test_settings(record_property):
    import ctypes

    work(wait=True)
    count = ctypes.c_int()
    ctypes.CDLL("libcuda.so.1").cuDeviceGetCount(ctypes.byref(count))
    with open(os.environ["SEEN"], "a") as seen:
        names = ["SIMCUDA_SCHEDULE", "SIMCUDA_STRICT", "MINE", "SIMCUDA_LOG"]
        print(count.value, *map(os.environ.get, names), file=seen)
    record_property("found", 42)


@simcuda
def test_destroyed_stream():
    import ctypes

    work(wait=True)
    cuda, stream = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    cuda.cuStreamCreate(ctypes.byref(stream), 1)
    cuda.cuStreamDestroy_v2(stream)
    cuda.cuStreamQuery(stream)


@simcuda(fail="cuMemAllocAsync:1:2")
def test_out_of_memory():
    work(wait=True)


@simcuda
def test_own_pytest(pytester_like):
    pass


@pytest.fixture
def pytester_like(tmp_path):
    (tmp_path / "test_x.py").write_text("def test_one(): pass")
    subprocess.run([sys.executable, "-m", "pytest", "-q", "test_x.py"], cwd=tmp_path, check=True)
    work(wait=True)


@simcuda(schedule="lazy")
def test_unknown_argument():
    work(wait=True)


@simcuda("lazy")
def test_positional_argument():
    work(wait=True)


def test_unmarked(shared):
    assert "libcuda" not in pathlib.Path("/proc/self/maps").read_text()
"""


class Outcome:
    def __init__(self, case):
        kinds = {child.tag: child for child in case}
        bad = kinds.get("failure", kinds.get("error", kinds.get("skipped")))
        self.kind = "passed" if bad is None else "skipped" if bad.tag == "skipped" else "failed"
        self.text = "" if bad is None else f"{bad.get('message')}\n{bad.text}"
        self.properties = [p.get("value") for p in case.iter("property")]
        self.out, self.err = (
            kinds[tag].text if tag in kinds else "" for tag in ("system-out", "system-err")
        )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("somebody's project [1]")
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "driving.py").write_text(DRIVING)
    (folder / "test_project.py").write_text(PROJECT, encoding="utf-8")
    # Settings that other projects have, and that the processes of single tests must not repeat.
    (folder / "pytest.ini").write_text(
        "[pytest]\naddopts = --strict-markers --strict-config --backend=mine --junitxml=report.xml"
        " -p no:hypothesispytest\n"
        "junit_logging = all\nfilterwarnings = error\n"
    )
    return folder


@pytest.fixture(scope="module")
def outcomes(folder):
    """Name of each test: how it ended."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "test_project.py", f"--basetemp={folder}/tmp"],
        cwd=folder,
        env=environment(PYTHONPATH=str(folder), SEEN=str(folder / "seen"), SIMCUDA_LOG="/no/such"),
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert not any(word in done.stderr for word in ("Traceback", "INTERNAL"))
    cases = ElementTree.parse(folder / "report.xml").getroot().iter("testcase")
    prefix = "test_project"
    return {
        f"{case.get('classname').removeprefix(prefix).lstrip('.')}:{case.get('name')}": Outcome(
            case
        )
        for case in cases
    }


def environment(**more):
    """The environment without what changes pytest's output: under CI it folds nothing."""
    ours = os.environ.items()
    return {k: v for k, v in ours if k != "CI" and not k.startswith(("SIMCUDA", "PYTEST"))} | more


ENDS = {
    ":test_ordered": ("passed", ""),
    ":test_raced": ("failed", "nothing orders cuMemsetD8Async"),
    ":test_raced_unseen": ("passed", ""),
    ":test_raced_and_wrong": ("failed", "my message"),
    "TestOuter.TestInner:test_ordered": ("passed", ""),
    "TestOuter.TestInner:test_raced": ("failed", "it raced"),
    "TestAll:test_ordered": ("passed", ""),
    "Old:test_ordered": ("passed", ""),
    "Old:test_fails": ("failed", "3 != 4"),
    ":test_fails": ("failed", "assert 7 == 8"),
    ":test_setup_fails": ("failed", "no such fixture today"),
    ":test_teardown_fails": ("failed", "it does not go away"),
    ":test_no_fixture": ("failed", "fixture 'nobody_made_it' not found"),
    ":test_races_in_teardown": ("failed", "it raced"),
    ":test_no_call": ("failed", "called the driver 0 times"),
    ":test_no_call_allowed": ("passed", ""),
    ":test_too_few_calls": ("failed", "proves nothing"),
    ":test_child_races": ("failed", "nothing orders cuMemsetD8Async"),
    ":test_segfault": ("failed", "by signal SIGSEGV"),
    ":test_exits": ("failed", "ended its process with status 0"),
    ":test_exits_late": ("failed", "ended its process with status 9"),
    ":test_hangs": ("failed", "not done after 0.5 s"),
    ":test_skips": ("skipped", "not today"),
    ":test_skip_mark": ("skipped", "never here"),
    ":test_xfail": ("skipped", "known"),
    ":test_xpass": ("failed", "XPASS(strict)"),
    ":test_xfail_inside": ("skipped", "found out"),
    ":test_settings": ("passed", ""),
    ":test_destroyed_stream": ("failed", "it used a destroyed stream or event"),
    ":test_out_of_memory": ("failed", "cuMemAllocAsync returned 2"),
    ":test_own_pytest": ("passed", ""),
    ":test_unknown_argument": ("failed", "there is no argument 'schedule'; there are schedules"),
    ":test_positional_argument": ("failed", "by name"),
    ":test_unmarked": ("passed", ""),
}


@pytest.mark.parametrize("name", ENDS)
def test_ends(name, outcomes):
    kind, text = ENDS[name]
    assert outcomes[name].kind == kind, outcomes[name].text
    assert text in outcomes[name].text


def test_every_test_is_looked_at(outcomes):
    assert {name for name in outcomes if not name.startswith(":test_odd")} == {*ENDS}


def test_odd_names(outcomes):
    odd = {name: found for name, found in outcomes.items() if name.startswith(":test_odd")}
    assert len(odd) == 8
    assert {found.kind for found in odd.values()} == {"passed"}
    assert "<c[d]::e>" in "".join(found.out for found in odd.values())


def test_a_failure_says_enough(outcomes):
    text = outcomes[":test_raced"].text
    assert "schedule eager" in text
    assert "writes, on non-blocking stream" in text
    assert "record an event after operation" in text
    assert re.search(r"cuStreamWaitEvent\(\S.*, event, 0\)\n", text)
    called = r"called at \S+ in call, from \S+ in work, from test_project\.py:\d+ in test_raced\n"
    assert len(set(re.findall(called, text))) == 2
    assert "again: pytest --simcuda-schedules=eager" in text
    both = outcomes[":test_raced_and_wrong"]
    assert "It also raced:" in both.text
    assert "not shown" not in both.out
    failed = outcomes[":test_fails"]
    assert "seven = 7" in failed.text  # pytest's own explanation
    assert "said before" in failed.out
    assert "and on the other" in failed.err
    assert "in test_hangs" in outcomes[":test_hangs"].text
    assert "in test_segfault" in outcomes[":test_segfault"].text


def test_every_schedule_with_every_setting(outcomes, folder):
    seen = (folder / "seen").read_text().splitlines()
    schedules = ["lazy", "eager", "random:5", "random:1", "random:2"]
    assert seen == [f"3 {schedule} 1 1 None" for schedule in schedules]
    assert outcomes[":test_settings"].properties == ["42"]


def test_temporary_folders_are_kept(outcomes, folder):
    assert len(list(folder.glob("tmp/**/test_ordered0/kept"))) == 1


def test_nothing_is_left_running(outcomes, folder):
    """Not even what a test that took too long has started; a dead process has no arguments."""
    arguments = Path("/proc", (folder / "other").read_text(), "cmdline")

    def ended():
        try:
            return b"7357" not in arguments.read_bytes()
        except OSError:
            return True

    assert eventually(ended)


# ---- Small projects of their own ----------------------------------------------------------------


@pytest.fixture
def project(pytester, monkeypatch):
    pytester.makepyfile(driving=DRIVING)
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest")  # it takes long to start
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))
    return pytester


TWO = """
import pytest
from driving import work

@pytest.mark.simcuda(schedules=["eager"], seeds=1)
def test_one():
    work(wait=True)
    import os
    open("seen", "a").write(os.environ["SIMCUDA_SCHEDULE"] + "\\n")
"""


@pytest.mark.parametrize(
    ("options", "schedules"),
    [
        ([], ["eager", "random:1"]),
        (["--simcuda-schedules=random:7, lazy"], ["random:7", "lazy"]),
        (["--simcuda-seeds=2"], ["random:1", "random:2"]),
        (["--simcuda-seeds=1", "--simcuda-schedules=lazy,random:1"], ["lazy", "random:1"]),
        (["--simcuda-seeds=0"], ["lazy"]),
    ],
)
def test_options_override_the_marker(project, options, schedules):
    project.makepyfile(TWO)
    project.runpytest_inprocess(*options).assert_outcomes(passed=1)
    assert (project.path / "seen").read_text().split() == schedules


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--simcuda-seeds=many", "--simcuda-seeds='many' is not a number"),
        ("--simcuda-seeds=-1", "--simcuda-seeds=-1 is not a number from 0"),
        ("--simcuda-schedules=lazy,soon", "no schedule 'soon'"),
        ("--simcuda-schedules=,", "none is named"),
    ],
)
def test_bad_options(project, option, said):
    project.makepyfile("def test_one(): pass")
    done = project.runpytest_inprocess(option)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert said in done.stderr.str()


@pytest.mark.parametrize(
    "arguments",
    [
        'schedules=["soon"]',
        "schedules=3",
        "schedules=[3]",
        "seeds=-1",
        "seeds=True",
        'races="maybe"',
        "strict=1",
        "devices=17",
        'fail="x"',
        "fail=3",
        "calls=-1",
        "timeout=0",
        'timeout="1"',
        'timeout=float("nan")',
        'env={"A": 1}',
        'env="A"',
        'env={"A=B": ""}',
        'env={"": "1"}',
        'env={"A": "\\0"}',
        'env={"SIMCUDA_FAIL": "cuInit:1:2"}',
        'env={"SIMCUDA_LIBRARY_DIR": "/"}',
        'fail="cuNoSuchFunction:1:2"',
    ],
)
def test_bad_marker(pytester, arguments):
    pytester.makepyfile(f"import pytest\n@pytest.mark.simcuda({arguments})\ndef test_one(): pass")
    done = pytester.runpytest_inprocess("-p", "simcuda", "-p", "no:hypothesispytest")
    done.assert_outcomes(failed=1)
    assert f"the marker simcuda: {arguments.partition('=')[0]}" in done.stdout.str()


@pytest.mark.parametrize("option", ["", "-p no:capture", "-p no:terminal"])
def test_warnings_are_told(project, option):
    project.makepyfile("""
        import warnings, pytest
        from driving import work
        class OurWarning(FutureWarning): pass
        @pytest.mark.simcuda(schedules=["lazy", "eager"])
        def test_one():
            work(wait=True)
            warnings.warn("of ours", OurWarning)
            warnings.warn("not told", ImportWarning)
        @pytest.mark.simcuda
        @pytest.mark.filterwarnings("error")
        def test_two():
            warnings.warn("an error", OurWarning)
    """)
    project.makeini(
        "[pytest]\nfilterwarnings =\n error\n ignore::ImportWarning\n"
        " default::FutureWarning:test_warnings_are_told"
    )
    told = []

    class Plugin:
        def pytest_warning_recorded(self, warning_message, nodeid):
            told.append(
                (
                    nodeid.partition("::")[2],
                    warning_message.category.__name__,
                    str(warning_message.message),
                    warning_message.lineno,
                )
            )

    done = project.inline_run(*option.split(), plugins=[Plugin()])
    done.assertoutcome(passed=1, failed=1)
    assert told == [("test_one", "OurWarning", "of ours", 7)]


def test_a_skip_is_told_where_it_is(project):
    project.makepyfile("""
        import pytest
        @pytest.mark.simcuda
        def test_one():
            pytest.skip("not here")
        @pytest.mark.skipif(True, reason="by its mark")
        @pytest.mark.simcuda
        def test_two(): pass
    """)
    done = project.runpytest_inprocess("-rs")
    done.assert_outcomes(skipped=2)
    name = "test_a_skip_is_told_where_it_is.py"
    done.stdout.fnmatch_lines_random(
        [f"SKIPPED * {name}:4: not here", f"SKIPPED * {name}:5: by its mark"]
    )


def test_the_marker_is_registered(pytester):
    done = pytester.runpytest_subprocess("--markers")
    assert "@pytest.mark.simcuda(schedules=" in done.stdout.str()
    assert "--simcuda-seeds" in pytester.runpytest_subprocess("--help").stdout.str()


def test_module_fixtures_of_others_are_torn_down(project):
    """A marked test at the end of a module leaves what the tests before it have set up in order."""
    project.makepyfile(
        test_a="""
        import pytest
        from driving import work
        @pytest.fixture(scope="module")
        def module():
            yield
            print("torn down")
        def test_one(module): pass
        @pytest.mark.simcuda
        def test_two(): work(wait=True)
        """,
        test_b="def test_three(): pass",
    )
    done = project.runpytest_inprocess("-s")
    done.assert_outcomes(passed=3)
    assert done.stdout.str().count("torn down") == 1


def test_works_without_plugins_loaded_by_themselves(project, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    project.makepyfile(TWO)
    project.runpytest_subprocess("-p", "simcuda.pytest_plugin").assert_outcomes(passed=1)


def test_a_package_without_its_library(project):
    project.makepyfile(TWO)
    project.makeconftest(
        "import pathlib\nfrom simcuda import _library\n_library.LIBRARY = pathlib.Path('/no/such')"
    )
    done = project.runpytest_subprocess()
    done.assert_outcomes(failed=1)
    assert "this installation of simcuda is not whole: /no/such is missing" in done.stdout.str()


def test_another_driver_is_not_taken_for_simcuda(project, tmp_path):
    """A test that opens some other libcuda by its path proves nothing about this one."""
    subprocess.run(
        ["cc", "-shared", "-o", tmp_path / "libcuda.so.1", "-x", "c", "-"],
        input=b"int cuInit(unsigned flags) { return (int)flags; }",
        check=True,
    )
    project.makepyfile(f"""
        import ctypes, pytest
        from driving import work
        @pytest.mark.simcuda
        def test_one():
            work(wait=True)
            assert ctypes.CDLL({str(tmp_path / "libcuda.so.1")!r}).cuInit(0) == 0
        @pytest.mark.simcuda
        def test_by_name():
            assert hasattr(ctypes.CDLL("libcuda.so.1"), "simcuda_races")
            work(wait=True)
    """)
    done = project.runpytest_inprocess()
    done.assert_outcomes(failed=1, passed=1)
    assert f"{tmp_path}/libcuda.so.1" in done.stdout.str()


def test_other_peoples_pytest(project):
    """A run without marked tests loads only four small modules."""
    project.makepyfile("""
        import sys
        def test_one():
            names = set(sys.modules)
            assert not names & {"numpy", "numba", "cuda", "simcuda._marker"}
            assert "libcuda" not in open("/proc/self/maps").read()
    """)
    project.runpytest_subprocess("-p", "no:hypothesispytest").assert_outcomes(passed=1)
    code = "import pytest, sys; before = set(sys.modules); import simcuda.pytest_plugin; " + (
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    imported = set(done.stdout.split()) - {"_interpreters", "_xxsubinterpreters"}
    package = {"simcuda", "simcuda._library", "simcuda._version", "simcuda.pytest_plugin"}
    assert imported == package


# ---- The fixture --------------------------------------------------------------------------------


def test_the_fixture(project):
    project.makepyfile("""
        import pytest
        from driving import work
        @pytest.mark.simcuda
        def test_one(simcuda):
            work(wait=True)
            assert simcuda.calls("cuEventRecord") == simcuda.calls("cuStreamWaitEvent") == 1
            assert simcuda.calls() > 2
            assert simcuda.races() == 0
            simcuda.fail("cuStreamCreate", 1, 2)
            with pytest.raises(RuntimeError, match="cuStreamCreate returned 2"):
                work(wait=True)
        @pytest.mark.simcuda(races="off")
        def test_nothing_is_left_of_the_test_before(simcuda):
            work(wait=False)
            assert simcuda.calls("cuEventRecord") == 0
        @pytest.mark.simcuda
        def test_what_is_set_back_was_called(simcuda):
            work(wait=True)
            simcuda.reset_counts()
            assert simcuda.calls() == 0
            simcuda.reset()
        @pytest.mark.simcuda(fail="cuMemAllocAsync:1:-1")
        def test_a_device_is_lost():
            with pytest.raises(RuntimeError, match="cuMemAllocAsync returned 999"):
                work(wait=True)
        def test_unmarked(simcuda): pass
    """)
    done = project.runpytest_subprocess()
    done.assert_outcomes(passed=4, errors=1)
    assert "the fixture simcuda is for tests that are marked with simcuda" in done.stdout.str()


def test_the_package_has_what_the_marker_needs():
    _library.check()
