// SPDX-License-Identifier: BSD-3-Clause
// One launch of a PTX kernel: the memory that it can access, and its outcome.
#pragma once

#include <mutex>

#include "launch_work.h"
#include "written.h"

namespace simcuda {

class Execution final : public LaunchWork, private kernel::Environment {
 public:
  explicit Execution(std::shared_ptr<const KernelLaunch> launch) : LaunchWork(std::move(launch)) {}

  void share(Patience &patience) override { patience_ = &patience; }
  std::shared_ptr<LaunchWork> again() const override;
  void run(const Operation &operation) override;
  void ran(const Operation &operation) override;
  std::uint64_t nanoseconds() const override;

 private:
  explicit Execution(const LaunchWork &same) : LaunchWork(same) {}

  // Memory that the launch has found.
  struct Found {
    kernel::Window window;
    AllocationPtr allocation;
    std::shared_ptr<History> history;
    std::shared_ptr<kernel::Zeros> written;
    std::unique_ptr<std::byte[]> lost;  // replaces freed memory
  };

  kernel::Window find(std::uint64_t address) override;
  std::string describe(std::uint64_t address) override;
  const kernel::Texels *texels(std::uint64_t handle) override;
  std::string describe_handle(std::uint64_t handle) override;
  std::uint64_t address_of(const kernel::Variable &variable) override;
  void print(std::string_view text) override;
  bool stopped() override;
  std::uint64_t allocate(std::uint64_t size) override;
  bool free(std::uint64_t address) override;

  const kernel::Window &add(const Seen &seen);
  const Found *found_at(std::uint64_t address) const;  // null: not yet, or not any more
  void execute(std::uint64_t grid_id);
  void write_printed();
  std::string parameter_of(const kernel::Access &access) const;
  std::string describe_use(const kernel::Access &access) const;
  std::string memory_of(const kernel::Finding &finding);

  std::map<std::uint64_t, Found> found_;    // by address, with the simulator's lock
  std::vector<AllocationPtr> freed_;        // by itself
  std::vector<TextureObjectPtr> textures_;  // that it uses
  kernel::Outcome outcome_;
  bool has_failed_ = false;  // the engine itself, for example because of a lack of memory
  Patience own_patience_{*this};
  Patience *patience_ = &own_patience_;
  std::mutex mutex_;  // guards the printed text
  std::string printed_;
};

}  // namespace simcuda
