// SPDX-License-Identifier: BSD-3-Clause
// Work that waits for a point in that of another stream.
#pragma once

#include "device/cpu_stream.hpp"
#include "order/event.hpp"

namespace cai::device {

// Later work on a stream with a thread of its own waits for a point of a GPU's. The event is of its
// primary context in that epoch; 0: of another context.
void wait_in_work(CpuStream &stream, order::Event event, cai_device device, std::uint64_t epoch);

}  // namespace cai::device
