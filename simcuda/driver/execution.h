// SPDX-License-Identifier: BSD-3-Clause
// One launch of a kernel of PTX as it is executed: the memory that it sees, and what came of it.
#pragma once

#include <atomic>
#include <mutex>

#include "launch.h"
#include "spoken.h"
#include "written.h"

namespace simcuda {

// How long work has gone on.
class Patience {
 public:
  explicit Patience(const KernelWork &work) : work_(work) {}
  void begin() { began_ = Clock::now(); }
  // Others may begin beside it; without the simulator's lock.
  void goes_on();
  // Whether it is to end now, for its time or for an error of its context's.
  bool is_over(const Context &context);
  bool is_out_of_time() const { return out_of_time_; }
  // "It had run for more than 600 seconds ..."
  static std::string end_of_time();

 private:
  const KernelWork &work_;
  Clock::time_point began_;
  std::atomic<bool> goes_on_{false}, out_of_time_{false};  // several threads may ask
};

class LaunchWork : public KernelWork {
 public:
  // It is a part of other work, whose time it takes.
  virtual void share(Patience &patience) = 0;
  // The same launch, to be executed once more.
  virtual std::shared_ptr<LaunchWork> again() const = 0;
};

class Execution final : public LaunchWork, private kernel::Environment {
 public:
  // When the launch is submitted: what it names is remembered as it is now.
  explicit Execution(std::shared_ptr<const KernelLaunch> launch);

  void share(Patience &patience) override { patience_ = &patience; }
  std::shared_ptr<LaunchWork> again() const override;

  std::string name() const override { return kernel::spoken(launch_->code->name); }
  void run(const Operation &operation) override;
  void ran(const Operation &operation) override;

 private:
  using Named = std::vector<std::pair<AllocationPtr, std::shared_ptr<History>>>;

  Execution(std::shared_ptr<const KernelLaunch> launch, Named named)
      : launch_(std::move(launch)), named_(std::move(named)) {}

  // Memory that it has found.
  struct Found {
    kernel::Window window;
    AllocationPtr allocation;
    std::shared_ptr<History> history;
    std::shared_ptr<kernel::Zeros> written;
    std::unique_ptr<std::byte[]> lost;  // in place of memory that is gone
  };

  kernel::Window find(std::uint64_t address) override;
  std::string describe(std::uint64_t address) override;
  std::uint64_t address_of(const kernel::Variable &variable) override;
  void print(std::string_view text) override;
  bool stopped() override;
  std::uint64_t allocate(std::uint64_t size) override;
  bool free(std::uint64_t address) override;

  AllocationPtr allocation_at(std::uintptr_t address) const;
  void execute(std::uint64_t grid_id);
  void write_printed();
  std::string parameter_of(const kernel::Access &access) const;
  std::string describe_use(const kernel::Access &access) const;
  std::string memory_of(const kernel::Finding &finding);

  const std::shared_ptr<const KernelLaunch> launch_;
  Named named_;
  std::map<std::uint64_t, Found> found_;  // by address, with the simulator's lock
  kernel::Outcome outcome_;
  bool has_failed_ = false;  // the engine itself, for want of memory say
  Patience own_patience_{*this};
  Patience *patience_ = &own_patience_;
  std::mutex mutex_;  // of what is printed
  std::string printed_;
};

}  // namespace simcuda
