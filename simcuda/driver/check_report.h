// SPDX-License-Identifier: BSD-3-Clause
// Counts and reports errors inside kernels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "objects.h"
#include "report.h"

namespace simcuda {

// Any thread may call these, without the simulator's lock.
// A finding after which the launch went on. Like a race, it affects the exit status of the run.
void tell_findings(const std::vector<kernel::Finding> &findings, std::uint64_t left_out,
                   const Operation &operation);
// The fault that ended a launch: its context becomes unusable, too.
void tell_fault(const kernel::Fault &fault, const Operation &operation);
// The same for work that the engine does not execute: what happened, in a sentence or two.
void tell_fault(const std::string &sentence, const Operation &operation);

// An error in a client's call, and the call's site.
void tell_of_call(const char *call, const std::string &wrong, Site site);

// Of this process.
std::uint64_t findings_so_far();
void forget_findings();
void say_findings_at_end();

}  // namespace simcuda
