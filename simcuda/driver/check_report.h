// SPDX-License-Identifier: BSD-3-Clause
// Counts what is wrong inside kernels, and tells of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "objects.h"
#include "report.h"

namespace simcuda {

// All of these from any thread, without the simulator's lock.
// What a launch went on after: it counts, as a race does, for the status of the whole run.
void tell_findings(const std::vector<kernel::Finding> &findings, std::uint64_t left_out,
                   const Operation &operation);
// What a launch ended with: its context is told, too.
void tell_fault(const kernel::Fault &fault, const Operation &operation);
// The same of what is not executed by the engine: what happened, in a sentence or two.
void tell_fault(const std::string &sentence, const Operation &operation);

// What is wrong with a call of the client's, and where that comes from.
void tell_of_call(const char *call, const std::string &wrong, Site site);

// Of this process.
std::uint64_t findings_so_far();
void forget_findings();
void say_findings_at_end();

}  // namespace simcuda
