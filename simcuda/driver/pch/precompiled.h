// SPDX-License-Identifier: BSD-3-Clause
// What most files of simcuda include, compiled once. Each file still includes what it needs.
#include <algorithm>
#include <cstring>
#include <functional>
#include <map>

#include "call.h"
#include "capture.h"
