# SPDX-License-Identifier: BSD-3-Clause
"""The marker ``simcuda`` in the process that was asked to run the test."""

import contextlib
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import warnings
import zlib
from dataclasses import dataclass, field

import pytest

from simcuda import _events, _library, _report, _tally
from simcuda.pytest_plugin import CHILD, SKIPPED_AT

MOST_SEEDS = 100_000

# Variables that the marker sets itself, each with its argument if it has one.
OWN_VARIABLES = {
    "SIMCUDA_SCHEDULE": "schedules",
    "SIMCUDA_RACES": "races",
    "SIMCUDA_STRICT": "strict",
    "SIMCUDA_DEVICES": "devices",
    "SIMCUDA_FAIL": "fail",
    "SIMCUDA": None,
    "SIMCUDA_LIBRARY_DIR": None,
    "SIMCUDA_RACE_DIR": None,
    "SIMCUDA_COUNT_DIR": None,
    "SIMCUDA_TRACE_DIR": None,
    CHILD: None,
}


class BadMarker(Exception):
    """An argument of the marker, or an option, has no meaning."""


@dataclass
class Settings:
    """The marker's arguments."""

    schedules: tuple = ()
    seeds: int = 0
    races: str = "log"
    strict: bool = False
    devices: int = 2
    fail: "str | None" = None
    calls: int = 1
    timeout: float = 120
    env: dict = field(default_factory=dict)

    def __post_init__(self):
        if isinstance(self.schedules, str):
            self.schedules = (self.schedules,)
        self.schedules = _checked("schedules", self.schedules, _schedules)
        _number("seeds", self.seeds, 0, MOST_SEEDS)
        if self.races not in ("log", "off", "abort"):
            raise BadMarker(f"races={self.races!r} is none of 'log', 'off' and 'abort'")
        if not isinstance(self.strict, bool):
            raise BadMarker(f"strict={self.strict!r} is neither True nor False")
        _number("devices", self.devices, 0, _library.MOST_DEVICES)
        if self.fail is not None:
            _checked("fail", self.fail, _library.faults)
        _number("calls", self.calls, 0, 1 << 60)
        if not _is_number(self.timeout, (int, float)) or not 0 < self.timeout <= 86400:
            raise BadMarker(f"timeout={self.timeout!r} is not a number of seconds, up to a day")
        _variables(self.env)

    @property
    def runs(self):
        """Every schedule, once."""
        seeded = [f"random:{seed}" for seed in range(1, self.seeds + 1)]
        return list(dict.fromkeys([*self.schedules, *seeded])) or ["lazy"]


def _schedules(names):
    return tuple(_library.schedule(name) for name in names)


def _checked(name, value, check):
    try:
        return check(value)
    except (AttributeError, TypeError):
        raise BadMarker(f"{name}={value!r} has the wrong type") from None
    except ValueError as error:
        raise BadMarker(f"{name}: {error}") from None


def _is_number(value, kinds):
    return isinstance(value, kinds) and not isinstance(value, bool)


def _number(name, value, least, most):
    if not _is_number(value, int) or not least <= value <= most:
        raise BadMarker(f"{name}={value!r} is not a number from {least} to {most}")


def _variables(env):
    if not isinstance(env, dict) or not all(
        isinstance(part, str) and "\0" not in part for pair in env.items() for part in pair
    ):
        raise BadMarker(f"env={env!r} is not a dict of strings without NUL")
    for name in env:
        if not name or "=" in name:
            raise BadMarker(f"env: {name!r} is not the name of a variable")
        if name in OWN_VARIABLES:
            argument = OWN_VARIABLES[name]
            raise BadMarker(
                f"env: {name} is set by "
                + (f"the argument {argument}" if argument else "the marker itself")
            )


def overriding(schedules, seeds):
    """The arguments that the command line's options stand for; None for one not given."""
    if schedules is None and seeds is None:
        return {}
    try:
        count = int(seeds or 0)
    except ValueError:
        raise BadMarker(f"seeds={seeds!r} is not a number") from None
    names = () if schedules is None else tuple(filter(None, map(str.strip, schedules.split(","))))
    if schedules is not None and not names:
        raise BadMarker("schedules: none is named")
    found = {"schedules": names, "seeds": count}
    Settings(**found)
    return found


def settings_of(marker, config):
    """Reads a marker, and the options that override it."""
    if marker.args:
        raise BadMarker(f"it takes its arguments by name, and was given {marker.args[0]!r}")
    known = Settings.__dataclass_fields__
    for name in marker.kwargs:
        if name not in known:
            raise BadMarker(f"there is no argument {name!r}; there are {', '.join(known)}")
    option = overriding(config.getoption("simcuda_schedules"), config.getoption("simcuda_seeds"))
    return Settings(**{**marker.kwargs, **option})


def run(item, marker):
    """Runs a test under all of its schedules; ends it as the first one that does not pass."""
    try:
        settings = settings_of(marker, item.config)
        _library.check()
    except BadMarker as error:
        _fail(f"the marker simcuda: {error}")
    except _library.MissingError as error:
        _fail(str(error))
    for schedule in settings.runs:
        this = _Run(item, settings, schedule)
        try:
            this.do()
            this.judge()
        except BaseException:
            this.pass_on()
            raise
    this.pass_on()  # one of those that passed is reported for all


def _fail(text):
    raise pytest.fail.Exception(text, pytrace=False) from None


class _Run:
    """One run of one test in a process of its own."""

    def __init__(self, item, settings, schedule):
        self.item, self.settings, self.schedule = item, settings, schedule
        # The report that the child wrote.
        self.phases, self.warnings, self.end, self.report = [], [], None, ""
        self.tally = _tally.Tally()
        self.reports = item.config.getoption("simcuda_report")
        self.processes = []  # what they did, for a report

    def do(self):
        with tempfile.TemporaryDirectory(prefix="simcuda-") as folder:
            folder = pathlib.Path(folder)
            command, environment = self.prepare(folder)
            with open(folder / "output", "wb") as output:
                self.status = self.wait(command, environment, output)
            self.output = _read(folder / "output")
            self.report = "\n".join(map(_read, sorted((folder / "races").iterdir())))
            self.tally = _tally.read(folder / "counts")
            _tally.pass_on(self.tally, folder.name)
            if self.reports is not None:
                self.processes = _events.read(folder / "trace")
            for line in _read(folder / "phases").splitlines():
                entry = json.loads(line)
                if "when" in entry:
                    self.phases.append(entry)
                elif "warning" in entry:
                    self.warnings.append(entry)
                else:
                    self.end = entry

    def judge(self):
        phases, end, status = self.phases, self.end, self.status
        for phase in phases:
            if phase["when"] == "marker":
                _fail(f"the marker simcuda: {phase['text']}")
            if phase["outcome"] == "failed":
                self.fail(f"failed in its {phase['when']}", phase["text"], races=True)
        if status is None:
            self.fail(f"was not done after {self.settings.timeout:g} s", self.output, races=True)
        if end is None or status != 0:
            how = f"by signal {_name(-status)}" if status < 0 else f"with status {status}"
            self.fail(f"ended its process {how}", self.output, races=True)
        if self.report:
            self.fail(self.finding, self.report)
        for phase in phases:
            if phase["outcome"] == "xfailed":
                pytest.xfail(phase["text"])
            if phase["outcome"] == "skipped":
                self.item.stash[SKIPPED_AT] = tuple(phase["place"])
                pytest.skip(phase["text"])
        if end["drivers"]:
            self.fail("used another driver than simcuda", "\n".join(end["drivers"]))
        if end["calls"] < self.settings.calls:
            self.fail(
                f"proves nothing: it called the driver {end['calls']} times in its own process",
                f"simcuda(calls={self.settings.calls}) is the least that it must; calls=0 allows "
                "a test that makes none.",
            )

    def prepare(self, folder):
        """The child's command line and environment; its orders are a file."""
        config, item = self.item.config, self.item
        option = config.option
        target = pathlib.Path(os.path.relpath(item.path, config.invocation_params.dir))
        while "[" in str(target):  # pytest would take it for a parameter of the test
            target = target.parent
        orders = {
            "test": identity(item),
            "fail": self.settings.fail or "",
            "phases": str(folder / "phases"),
            "options": {k: v for k, v in vars(option).items() if _is_plain(v)},
        }
        (folder / "orders").write_text(json.dumps(orders), "utf-8")
        arguments = ["-c", str(config.inipath or os.devnull), f"--rootdir={config.rootpath}"]
        # The child gets none of the options of this run; those that it needs are in its orders.
        arguments += ["-o", "addopts=", "-p", "simcuda", "--capture=fd", "-q"]
        arguments += [f"--basetemp={_base_folder(config, folder)}"]
        if config.pluginmanager.has_plugin("cacheprovider"):
            arguments += ["-o", f"cache_dir={folder / 'cache'}"]
        arguments += [f"--import-mode={option.importmode}"]
        # Options that these two plugins read are passed to the child.
        not_its = ("simcuda", "no:capture", "no:terminal")
        others = [name for name in option.plugins or () if not name.startswith(not_its)]
        arguments += [part for name in others for part in ("-p", name)]
        arguments += [part for ini in option.override_ini or () for part in ("-o", ini)]
        arguments += [part for rule in option.pythonwarnings or () for part in ("-W", rule)]
        if option.confcutdir:
            arguments += [f"--confcutdir={pathlib.Path(option.confcutdir).resolve()}"]
        if option.noconftest:
            arguments += ["--noconftest"]
        kept = {k: v for k, v in os.environ.items() if not k.startswith("SIMCUDA")}
        kept.pop("PYTEST_ADDOPTS", None)
        environment = _library.environment(
            {
                **kept,
                "SIMCUDA_BANNER": "0",
                **self.settings.env,
                CHILD: str(folder / "orders"),
            },
            schedule=self.schedule,
            races=self.settings.races,
            strict=self.settings.strict,
            devices=self.settings.devices,
            fail=self.settings.fail,
        )
        (folder / "races").mkdir()
        (folder / "counts").mkdir()
        if self.reports is not None:
            (folder / "trace").mkdir()
            environment[_events.VARIABLE] = str(folder / "trace")
        command = [sys.executable, "-m", "pytest", *arguments, str(target)]
        return command, _library.driver(environment, folder / "races", folder / "counts")

    def wait(self, command, environment, output):
        """The child's status; None if it took too long. Nothing that it started is left."""
        child = subprocess.Popen(
            command,
            env=environment,
            cwd=self.item.config.invocation_params.dir,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            return child.wait(self.settings.timeout)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGABRT)  # faulthandler, which pytest enables, shows the place
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(60)
            return None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()

    def pass_on(self):
        """Repeats what the test printed, warned of and recorded, as if it had done so here."""
        with warnings.catch_warnings():
            warnings.simplefilter("always")  # the child's filters have let them through
            for warning in self.warnings:
                category = _category(*warning["category"])
                warnings.warn_explicit(
                    warning["warning"], category, warning["file"], warning["line"]
                )
        reported = set(self.report.splitlines(keepends=True))
        for phase in self.phases:
            self.item.user_properties.extend(map(tuple, phase["properties"]))
            for title, text in phase["sections"]:
                key, _, when = title.removeprefix("Captured ").rpartition(" ")
                if when != phase["when"]:
                    continue  # each phase includes those of the earlier phases
                if key in ("stdout", "stderr"):
                    lines = text.splitlines(keepends=True)
                    getattr(sys, key).writelines(line for line in lines if line not in reported)
                else:
                    self.item.add_report_section(when, key, text)

    @property
    def finding(self):
        """What is wrong by the report, whatever else is."""
        if "simcuda: race:" in self.report:
            return "raced"
        if re.search("simcuda: (check|fault): Kernel", self.report):
            return "went wrong inside a kernel"
        return "used a destroyed stream or event"

    def fail(self, what, text, *, races=False):
        lines = [f"it {what} (on simcuda, schedule {self.schedule})", "", text.strip()]
        if races and self.report:
            lines += ["", f"It also {self.finding}:", self.report.strip()]
        if missing := self.tally.missing(failed=not self.report):
            names = ", ".join(missing)
            lines += ["", f"It called what simcuda does not implement (docs/rules.md): {names}"]
        if self.reports is not None:
            lines += ["", f"report: {self.write_report()}"]
        lines += [
            "",
            f"again: pytest --simcuda-schedules={self.schedule} {shlex.quote(self.item.nodeid)}",
        ]
        _fail("\n".join(lines))

    def write_report(self):
        """Writes the page that shows this run; returns where it is."""
        name = f"{self.item.nodeid} {self.schedule}"
        plain = re.sub(r"[^\w.]+", "-", name)[:150]
        if "[" in name:  # the parameters of two tests may be the same in a file name
            plain += f"-{zlib.crc32(name.encode()):08x}"
        path = self.item.config.invocation_params.dir / self.reports / f"{plain}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_report.page(self.processes, name), "utf-8")
        return path


def _read(path):
    return path.read_text("utf-8", "replace") if path.exists() else ""


def identity(item):
    """The name of a test in both processes: its node id may begin elsewhere in the other."""
    return [str(item.path), item.nodeid.partition("::")[2]]


def _category(module, name):
    """The class of a warning, if this process knows it too."""
    found = getattr(sys.modules.get(module), name, None)
    return found if isinstance(found, type) and issubclass(found, Warning) else UserWarning


def _is_plain(value):
    return isinstance(value, (str, int, float, bool, type(None))) or (
        isinstance(value, list) and all(isinstance(item, (str, int, float)) for item in value)
    )


def _name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _base_folder(config, folder):
    """The child's tmp_path: in this run's own, where one looks for it, or nowhere."""
    factory = getattr(config, "_tmp_path_factory", None)
    return factory.mktemp("simcuda") if factory is not None else folder / "tmp"
