// SPDX-License-Identifier: BSD-3-Clause
// What a launch did, and its errors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "types.h"

namespace simcuda::kernel {

// A place in a kernel: in the source, if .loc names one, and in the PTX text.
struct Place {
  std::string kernel, function, file;
  std::uint32_t line = 0;      // of the source; 0: not known
  std::uint32_t ptx_line = 0;  // of the PTX
  std::string instruction;
};

struct Thread {
  std::uint32_t block[3] = {}, thread[3] = {};
};

enum class FaultKind : std::uint8_t {
  illegal_address,      // CUDA_ERROR_ILLEGAL_ADDRESS, 700
  invalid_free,         // the same
  misaligned,           // CUDA_ERROR_MISALIGNED_ADDRESS, 716
  trap,                 // CUDA_ERROR_LAUNCH_FAILED, 719
  assertion,            // CUDA_ERROR_ASSERT, 710
  illegal_instruction,  // CUDA_ERROR_ILLEGAL_INSTRUCTION, 715
  invalid_pc,           // CUDA_ERROR_INVALID_PC, 718
  stack_overflow,       // CUDA_ERROR_HARDWARE_STACK_ERROR, 714
  invalid_handle,       // no texture, or no surface: as for an illegal address
  outside_surface,      // CUDA_ERROR_LAUNCH_FAILED, as a trap
  deadlock,             // all remaining threads wait for a barrier
  limit,                // more instructions than the limit
  stopped,              // the environment stopped it
};

// An error that ended the launch.
struct Fault {
  FaultKind kind = FaultKind::trap;
  Place place;
  Thread thread;
  std::uint64_t address = 0;
  std::uint32_t size = 0;
  bool write = false;
  Space space = Space::generic;
  std::string detail;  // more details: a sentence, or empty
};

enum class FindingKind : std::uint8_t {
  race,               // two threads use the same bytes, one of them writes, without an order
  never_written,      // a read of bytes that were not written
  barrier_divergent,  // threads of one warp wait at different barriers, or some have ended
  warp_mask,          // a thread does not name itself, or reads from an inactive one
  mbarrier,           // a use of one, or of its bytes, that PTX leaves undefined
};

// An error after which the launch went on.
struct Finding {
  FindingKind kind = FindingKind::race;
  Place place, other_place;
  Thread thread, other_thread;
  bool write = false, other_write = false, other_known = false;
  std::uint64_t address = 0;  // in shared memory, an offset into it
  std::uint32_t size = 0;
  Space space = Space::global;
  std::string detail;
  std::string memory;       // for global memory: what the driver knows about it, in whole lines
  std::uint64_t count = 1;  // how often at this instruction
};

enum class Use : std::uint8_t { reads, writes, atomic };

// The bytes of global memory that the launch used, all in one window.
struct Access {
  std::uint64_t begin = 0, end = 0;
  Use use = Use::reads;
  int parameter = -1;       // the parameter that points into this window; -1: none, or several
  std::uint32_t place = 0;  // index into the outcome's places: the first such use of the window
};

// Descriptions in English sentences.
std::string to_string(const Place &place);
std::string to_string(const Thread &thread);
std::string to_string(const Fault &fault);
std::string to_string(const Finding &finding);

}  // namespace simcuda::kernel
