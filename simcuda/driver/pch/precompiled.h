// SPDX-License-Identifier: BSD-3-Clause
// What most files of simcuda include, compiled once. Each file includes what it needs all the same.
#include <algorithm>
#include <cstring>
#include <functional>
#include <map>

#include "call.h"
#include "capture.h"
