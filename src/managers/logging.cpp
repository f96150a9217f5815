// SPDX-License-Identifier: BSD-3-Clause
// The manager "logging": comma-separated values, as RFC 4180 has them.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "core/report.hpp"
#include "managers/builtin.hpp"
#include "managers/caller.hpp"
#include "managers/wrapper.hpp"

namespace cai::managers {
namespace {

// Where lines are written: a file or a function.
class Sink {
 public:
  explicit Sink(const cai_log_params &params) : write_(params.write), context_(params.context) {
    if (!params.path == !params.write) {
      throw Failure(CAI_ERR_VALUE, {}, "manager logging: params has %s of path and write",
                    params.path ? "both" : "none");
    }
    if (!params.path) return;
    file_ = ::open(params.path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (file_ < 0) {
      throw Failure(CAI_ERR_VALUE, {}, "manager logging: %.150s cannot be written: %s", params.path,
                    std::string(text_of(errno)).c_str());
    }
  }
  Sink(const Sink &) = delete;
  Sink &operator=(const Sink &) = delete;
  ~Sink() {
    if (file_ >= 0) ::close(file_);
  }

  bool is_empty() const noexcept { return file_ < 0 || ::lseek(file_, 0, SEEK_END) <= 0; }

  // In one write, so that lines of several threads, or processes, are not mixed.
  void write(std::string_view line) const noexcept {
    if (write_) return write_(context_, line.data(), line.size());
    ssize_t written = 0;
    do {
      written = ::write(file_, line.data(), line.size());
    } while (written < 0 && errno == EINTR);
    if (written == static_cast<ssize_t>(line.size())) return;
    cai_error error;
    fail(&error, CAI_ERR_STATE, {}, "manager logging: a line could not be written: %s",
         written < 0 ? text_of(errno) : "no space");
    report(error);
  }

 private:
  static const char *text_of(int code) noexcept {
    thread_local char text[64];
    return ::strerror_r(code, text, sizeof text);
  }

  void (*write_)(void *, const char *, uint64_t);
  void *context_;
  int file_ = -1;
};

// A field, in quotes if needed.
std::string field(std::string_view text) {
  if (text.find_first_of(",\"") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

class Logging : public Wrapper<Logging> {
 public:
  static constexpr const char *name = "logging";

  Logging(const void *params, cai_device device, Manager *upstream)
      : Wrapper(name, upstream),
        params_(require_params<cai_log_params>(params, name)),
        device_(device),
        sink_(params_) {
    params_.path = nullptr;  // the caller's, and no longer needed
    if (sink_.is_empty()) sink_.write("time,device,action,address,size,stream,status,caller\n");
  }

  template <class Allocate>
  cai_block give(const Request &wanted, Allocate &&allocate) {
    Line line{wanted.host ? "hostalloc" : "alloc", 0, wanted.size, wanted.stream};
    cai_block block{};
    logged(line, [&] {
      block = allocate();
      line.address = address_of_block(block, wanted.host);
    });
    return block;
  }
  template <class Free>
  void take(const cai_block &block, uint64_t stream, bool host, Free &&free) {
    Line line{host ? "hostfree" : "free", address_of_block(block, host), block.size, stream};
    logged(line, free);
  }
  cai_block mempin(void *host, uint64_t size, uint32_t kind, uint32_t flags) {
    Line line{"pin", reinterpret_cast<std::uintptr_t>(host), size, 0};
    cai_block block{};
    logged(line, [&] { block = upstream_.mempin(host, size, kind, flags); });
    return block;
  }
  void memunpin(const cai_block &block) {
    Line line{"unpin", block.host, block.size, 0};
    logged(line, [&] { upstream_.memunpin(block); });
  }

 private:
  struct Line {
    const char *action;
    uint64_t address, size, stream;
  };

  template <class Body>
  void logged(const Line &line, Body &&body) {
    const double seconds = clock_.seconds();
    const Caller caller(params_.caller, params_.context);
    try {
      body();
    } catch (const Failure &failure) {
      write(seconds, line, failure.error().status, caller.text);
      throw;
    } catch (const std::bad_alloc &) {
      write(seconds, line, CAI_ERR_MEMORY, caller.text);
      throw;
    }
    write(seconds, line, CAI_OK, caller.text);
  }

  void write(double seconds, const Line &line, cai_status status,
             const char *caller) const noexcept {
    char numbers[192];
    std::snprintf(numbers, sizeof numbers, "%.6f,%s,%s,0x%llx,%llu,0x%llx,%s,", seconds,
                  device::Text(device_).text, line.action,
                  static_cast<unsigned long long>(line.address),
                  static_cast<unsigned long long>(line.size),
                  static_cast<unsigned long long>(line.stream), cai_status_name(status));
    try {
      sink_.write(numbers + field(caller) + '\n');
    } catch (const std::bad_alloc &) {  // NOLINT(bugprone-empty-catch): this line is lost
    }
  }

  cai_log_params params_;
  const cai_device device_;
  const Sink sink_;
  const Clock clock_;
};

}  // namespace

constinit const cai_manager_table logging_table = TableOf<Logging>::make();

}  // namespace cai::managers
