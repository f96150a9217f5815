// SPDX-License-Identifier: BSD-3-Clause
#include "report.h"

#include <cstdio>

#include "spoken.h"

namespace simcuda::kernel {
namespace {

std::string hexadecimal(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string triple(const std::uint32_t (&of)[3]) {
  return "(" + std::to_string(of[0]) + ", " + std::to_string(of[1]) + ", " + std::to_string(of[2]) +
         ")";
}

std::string bytes(std::uint32_t size) {
  return size == 1 ? "1 byte" : std::to_string(size) + " bytes";
}

std::string where(Space space, std::uint64_t address) {
  if (space == Space::generic || space == Space::global || space == Space::constant)
    return "address " + hexadecimal(address);
  return "byte " + std::to_string(address) + " of " + std::string(name_of(space)) + " memory";
}

std::string with_detail(std::string sentence, const std::string &detail) {
  return detail.empty() ? sentence : sentence + " " + detail;
}

}  // namespace

std::string to_string(const Thread &thread) {
  return "thread " + triple(thread.thread) + " of block " + triple(thread.block);
}

std::string to_string(const Place &place) {
  std::string text = "in " + spoken(place.function);
  if (place.function != place.kernel) text += ", called by " + spoken(place.kernel);
  if (!place.file.empty()) text += ", " + place.file + ":" + std::to_string(place.line);
  return text + ", line " + std::to_string(place.ptx_line) + " of its PTX (" + place.instruction +
         ")";
}

std::string to_string(const Fault &fault) {
  const std::string who = "Kernel " + spoken(fault.place.kernel) + ": " + to_string(fault.thread);
  const std::string at = ", " + to_string(fault.place) + ".";
  const std::string access = (fault.write ? " writes " : " reads ") + bytes(fault.size) + " at " +
                             where(fault.space, fault.address);
  switch (fault.kind) {
    case FaultKind::illegal_address:
      return with_detail(who + access + ", where it has no memory" + at, fault.detail);
    case FaultKind::invalid_free:
      return with_detail(who + " frees " + where(fault.space, fault.address) + at, fault.detail);
    case FaultKind::misaligned:
      return with_detail(
          who + access + ", which is no multiple of " + std::to_string(fault.size) + at,
          fault.detail);
    case FaultKind::trap:
      return with_detail(who + " executed a trap" + at, fault.detail);
    case FaultKind::assertion:
      return who + ": an assertion failed" + at + " It says: " + fault.detail;
    case FaultKind::illegal_instruction:
      return with_detail(who + " executed an invalid instruction" + at, fault.detail);
    case FaultKind::invalid_pc:
      return with_detail(who + " called or branched to where nothing is" + at, fault.detail);
    case FaultKind::stack_overflow:
      return with_detail(who + " needs more stack than there is" + at, fault.detail);
    case FaultKind::invalid_handle:
      return with_detail(who + " uses the handle " + hexadecimal(fault.address) + at, fault.detail);
    case FaultKind::outside_surface:
      return with_detail(who + (fault.write ? " writes " : " reads ") + bytes(fault.size) +
                             " outside of a surface" + at,
                         fault.detail);
    case FaultKind::deadlock:
      return with_detail("Kernel " + spoken(fault.place.kernel) + ": all threads of block " +
                             triple(fault.thread.block) +
                             " that are left wait, and nobody will come.",
                         fault.detail);
    case FaultKind::limit:
      return "Kernel " + spoken(fault.place.kernel) +
             ": it was stopped after as many instructions as a launch may execute; " +
             to_string(fault.thread) + " was" + at;
    case FaultKind::stopped:
      return with_detail("Kernel " + spoken(fault.place.kernel) + ": it was stopped; " +
                             to_string(fault.thread) + " was" + at,
                         fault.detail);
  }
  return who;
}

std::string to_string(const Finding &finding) {
  const std::string who =
      "Kernel " + spoken(finding.place.kernel) + ": " + to_string(finding.thread);
  const std::string at = ", " + to_string(finding.place) + ".";
  const std::string often = finding.count > 1 ? " The same instruction did so " +
                                                    std::to_string(finding.count) + " times."
                                              : "";
  switch (finding.kind) {
    case FindingKind::race: {
      std::string text = who + (finding.write ? " writes " : " reads ") + bytes(finding.size) +
                         " at " + where(finding.space, finding.address) + at + " ";
      if (finding.other_known) {
        std::string other = to_string(finding.other_thread);
        other[0] = 'T';
        text += other + (finding.other_write ? " writes" : " reads") + " the same, " +
                to_string(finding.other_place) + ".";
      } else {
        text += "Another thread reads the same.";
      }
      return text + ' ' + (finding.detail.empty() ? "No barrier orders the two." : finding.detail) +
             often;
    }
    case FindingKind::never_written:
      return who + " reads " + bytes(finding.size) + " at " +
             where(finding.space, finding.address) + ", of which nobody has written all" + at +
             often;
    case FindingKind::barrier_divergent:
      return who + " waits at a barrier" + at + " Another thread of its warp waits there " +
             to_string(finding.other_place) +
             ": all threads of a warp must come to it by the same instruction." + often;
    case FindingKind::warp_mask:
    case FindingKind::mbarrier:
      return who + " executes " + finding.place.instruction + at + " But " + finding.detail + "." +
             often;
  }
  return who;
}

}  // namespace simcuda::kernel
