// SPDX-License-Identifier: BSD-3-Clause
// Work that waits for a point in the work of another stream.
#pragma once

#include "device/cpu_stream.hpp"
#include "order/event.hpp"

namespace cai::device {

// Later work on a CPU stream with a thread waits for an event of a GPU stream. The event is of the
// GPU's primary context in that epoch; 0: of another context.
void wait_in_work(CpuStream &stream, order::Event event, cai_device device, std::uint64_t epoch);

}  // namespace cai::device
