// SPDX-License-Identifier: BSD-3-Clause
#include "bystander.hpp"

#include "managers.hpp"
#include "must.h"

namespace lives {

Bystander::Bystander() : thread_([this] { serve(); }) {}

Bystander::~Bystander() {
  state_ = ends;
  state_.notify_all();
  thread_.join();
}

Bystander::Turn::Turn(Bystander *of) : of_(of) {
  if (!of_) return;
  of_->state_ = calls;
  of_->state_.notify_all();
  of_->is_busy_.wait(false);  // so that its calls and the program's meet
}

Bystander::Turn::~Turn() {
  if (!of_) return;
  of_->state_ = holds;
  of_->is_busy_.wait(true);
}

void Bystander::serve() {
  for (unsigned i = 0; state_ != ends;) {
    state_.wait(holds);
    is_busy_ = true;
    is_busy_.notify_all();
    while (state_ == calls) {
      {
        const std::lock_guard lock(calling_);
        call(i++);
      }
      std::this_thread::yield();
    }
    is_busy_ = false;
    is_busy_.notify_all();
  }
}

// What a flush says depends on the program's captures and managers, and is looked at there.
void Bystander::call(unsigned which) {
  const cai_device gpu{CAI_DEVICE_CUDA, 0};
  switch (which % 4) {
    case 0:
      cai_pending_flush(gpu, nullptr);
      return;
    case 1:
      MUST(cai_drain(0, nullptr, nullptr));
      return;
    default:
      cai_memory *found = nullptr;
      if (cai_memory_find(address_, &found, nullptr, nullptr) == CAI_OK) cai_memory_release(found);
  }
}

}  // namespace lives
