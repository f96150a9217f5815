# SPDX-License-Identifier: BSD-3-Clause
"""Says where the packages of the interpreter that has Meson keep what the tests are built against.

Prints a line for each that is there: a name, a tab, and a folder.
"""

import importlib.metadata as metadata


def folder_of(package, marker):
    """The folder that has `marker` below it, of the files that a package has installed."""
    try:
        files = metadata.files(package) or []
    except metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.as_posix().endswith("/" + marker):
            path = file.locate().resolve()
            return path.parents[marker.count("/")]
    return None


def main():
    cccl = folder_of("nvidia-cuda-cccl", "cuda/memory_resource")
    cuda = folder_of("nvidia-cuda-runtime", "cuda_runtime_api.h")
    crt = folder_of("nvidia-cuda-crt", "crt/host_config.h")
    if cccl and cuda and crt:
        print(f"cccl\t{cccl}\ncuda\t{cuda}")
    if dlpack := folder_of("apache-tvm-ffi", "include/dlpack/dlpack.h"):
        print(f"dlpack\t{dlpack}/include")
    if umf := folder_of("umf", "include/umf.h"):
        print(f"umf\t{umf}")


if __name__ == "__main__":
    main()
