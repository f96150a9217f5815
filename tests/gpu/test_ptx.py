# SPDX-License-Identifier: BSD-3-Clause
"""What simcuda's kernels compute, computed by the driver's: each instruction against the numbers
that simcuda is tested with, random programs against the same evaluator, parts of the language."""

import importlib
import random
import sys
import unittest
from pathlib import Path

KERNEL = Path(__file__).resolve().parents[2] / "simcuda/tests/kernel"
VALUES = 480  # for each instruction
PROGRAMS = 200

if str(KERNEL) not in sys.path:
    sys.path[:0] = [str(KERNEL / "on_driver"), str(KERNEL)]

import all_cases  # noqa: E402

# Those that check numbers, and need none of the engine's own checks.
LAUNCHES = {
    "test_launches": (
        "test_recursion",
        "test_lanes_that_wait_for_each_other",
        "test_blocks_that_wait_for_each_other",
        "test_grid_barrier",
        "test_lanes_that_name_different_masks",
        "test_printf",
        "test_switch_and_reductions_of_barriers",
        "test_asynchronous_copies",
        "test_atomic_operations",
        "test_modules_are_linked",
        "test_names_of_one_module_are_its_own",
        "test_dynamic_shared_memory",
    ),
    "test_memory": (
        "test_loads_and_stores_of_all_types",
        "test_vectors",
        "test_128_bits",
        "test_parameters_by_their_addresses",
        "test_kinds_of_addresses",
        "test_addresses_of_local_memory",
        "test_hints_leave_memory_alone",
        "test_parts_of_a_copy",
        "test_atomic_operations_of_all_types",
        "test_compare_and_swap",
        "test_128_bits_are_swapped",
        "test_atomic_operations_of_halves",
        "test_sums_of_singles",
    ),
}
# One is about what the engine finds, one about how it links.
OF_THE_ENGINE = ("races_of_real_kernels", "grid_barrier")


class OnDriver(unittest.TestCase):
    def setUp(self):
        try:
            import engine
        except OSError as missing:
            self.skipTest(f"no CUDA driver here: {missing}")
        self.engine = engine

    def attempt(self, function, *arguments):
        try:
            return function(*arguments)
        except self.engine.TooNew:
            self.skipTest("this device is too old for the instruction")


class Instructions(OnDriver):
    def compute(self, case):
        import test_instructions

        numbers = random.Random(f"1 {case.text}")
        rows = test_instructions.rows_of(case, VALUES, numbers)
        wrong = self.attempt(test_instructions.check, case, rows)
        if wrong:
            self.fail("; ".join(wrong))


class Programs(OnDriver):
    def test_random_programs(self):
        import test_programs

        for seed in range(1, PROGRAMS + 1):
            with self.subTest(seed):
                wrong = test_programs.play(seed)
                if wrong:
                    self.fail(wrong)


class Launches(OnDriver):
    """Parts of the language."""


class Compiled(OnDriver):
    """The output of NVIDIA's compilers."""

    @classmethod
    def setUpClass(cls):
        try:
            import test_real
        except SystemExit:
            raise unittest.SkipTest("no numba-cuda with NVVM and NVRTC here") from None
        cls.kernels = {each.__name__: each for each in test_real.KERNELS}

    def test_kernels(self):
        for name, kernel in self.kernels.items():
            if name not in OF_THE_ENGINE:
                with self.subTest(name):
                    kernel()


def _add_tests():
    for case in all_cases.all_cases():
        name = "test " + " ".join(case.text.split())
        while hasattr(Instructions, name):  # with other numbers
            name += " again"
        setattr(Instructions, name, lambda self, case=case: self.compute(case))
    for module, names in LAUNCHES.items():
        for name in names:

            def test(self, module=module, name=name):
                self.attempt(getattr(importlib.import_module(module), name))

            setattr(Launches, name, test)


_add_tests()
