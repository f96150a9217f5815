// SPDX-License-Identifier: BSD-3-Clause
// What most files of src/ include, compiled once. Each file includes what it needs all the same:
// builds without precompiled headers, and Cargo's, have only that.
#include <algorithm>
#include <array>
#include <atomic>
#include <cinttypes>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
