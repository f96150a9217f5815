// SPDX-License-Identifier: BSD-3-Clause
// The calls of the driver's by which libcai orders work, each of which can be dropped: it then
// reports success and does nothing. What is linked with intercept.cpp and --wrap=dlsym asks
// drops(), which it brings along.
#pragma once

namespace mutants {

// Whether this call of the driver's function must be dropped.
bool drops(const char *function);

}  // namespace mutants
