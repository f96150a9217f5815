// SPDX-License-Identifier: BSD-3-Clause
#include "trace.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "call.h"
#include "call_site.h"
#include "launch.h"
#include "process_file.h"
#include "race_report.h"

namespace simcuda::trace {

std::atomic<bool> on{false};

namespace {

constexpr int version = 1;

// In static storage of the thread, like its other state.
struct Here {
  std::uint64_t thread, call;  // numbers
};
Here &here() {
  static thread_local Here state __attribute__((tls_model("initial-exec")));
  return state;
}

struct File {
  int descriptor = -1;
  std::atomic<std::uint64_t> threads{0}, calls{0};
  std::unordered_set<std::uint64_t> streams, allocations;  // those already described
  std::mutex sites_mutex;
  std::unordered_set<Site> sites;
};

File &file() {
  static auto *only = new File;
  return *only;
}

std::string hex(std::uintptr_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "\"%#llx\"", static_cast<unsigned long long>(value));
  return text;
}

// As a string of JSON.
std::string quoted(const char *text) {
  std::string result = "\"";
  for (; *text; ++text) {
    const auto c = static_cast<unsigned char>(*text);
    char escaped[8];
    if (c == '"' || c == '\\' || c < 0x20) {
      std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
      result += escaped;
    } else {
      result += *text;
    }
  }
  return result + '"';
}

std::string text(std::uint64_t number) {
  return std::to_string(number);
}
std::string text(const std::string &json) {
  return json;
}

// One write for each line, from parts in JSON, so that lines of several threads are not mixed.
template <class... Parts>
void write_line(const char *kind, const Parts &...parts) {
  std::string line = std::string("[\"") + kind + '"';
  ((line += ',' + text(parts)), ...);
  line += "]\n";
  [[maybe_unused]] auto written = write(file().descriptor, line.data(), line.size());
}

std::string list(const std::string &parts) {
  return '[' + parts + ']';
}

void add(std::string &parts, const std::string &part) {
  if (!parts.empty()) parts += ',';
  parts += part;
}

std::string read_whole(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void describe_process() {
  const std::string arguments = read_whole("/proc/self/cmdline");
  std::string parts;
  for (std::size_t at = 0; at < arguments.size(); at = arguments.find('\0', at) + 1)
    add(parts, quoted(&arguments[at]));
  write_line("process", version, getpid(), getppid(), list(parts));
}

void describe_thread(std::uint64_t number) {
  std::string name = read_whole("/proc/thread-self/comm");
  if (!name.empty()) name.pop_back();
  write_line("thread", number, gettid(), quoted(name.c_str()), thread_state().driver_thread);
}

std::uint64_t thread_number() {
  if (!here().thread) {
    here().thread = ++file().threads;
    describe_thread(here().thread);
  }
  return here().thread;
}

std::string text_of(const CallSite &site) {
  std::string frames;
  for (const Frame *frame : site.frames)
    add(frames, list(quoted(frame->file.c_str()) + ',' + std::to_string(frame->place) + ',' +
                     quoted(frame->function.c_str())));
  return list(frames);
}

void describe(Site site) {
  if (!site) return;
  std::lock_guard guard(file().sites_mutex);
  if (!file().sites.insert(site).second) return;
  const CallSite &described = call_site(site);
  write_line("site", site, quoted(described.is_python ? "python" : "native"), text_of(described));
}

void describe(const Stream &stream) {
  if (!file().streams.insert(stream.id).second) return;
  const char *kind = stream.kind == Stream::Kind::legacy       ? "legacy"
                     : stream.kind == Stream::Kind::per_thread ? "per-thread"
                     : stream.blocking()                       ? "blocking"
                                                               : "non-blocking";
  const Context &context = *stream.context;
  write_line("stream", stream.id, quoted(kind), hex(address_of(stream.handle)), context.id,
             hex(address_of(context.handle)), static_cast<std::uint64_t>(context.device));
}

std::uint64_t describe(const Allocation *allocation) {
  if (!allocation) return 0;
  const Allocation &a = *allocation;
  if (file().allocations.insert(a.buffer_id).second) {
    const char *kind = a.kind == Allocation::Kind::device    ? "device"
                       : a.kind == Allocation::Kind::managed ? "managed"
                       : a.kind == Allocation::Kind::host    ? "page-locked host"
                                                             : "registered host";
    write_line("memory", a.buffer_id, quoted(kind), hex(a.address), a.size,
               static_cast<std::uint64_t>(a.device));
  }
  return a.buffer_id;
}

std::string described(const Access &access) {
  const char *effect = access.life == Access::Life::begins ? "allocates"
                       : access.life == Access::Life::ends ? "frees"
                       : access.write                      ? "writes"
                                                           : "reads";
  return list(quoted(effect) + ',' + text(describe(access.allocation.get())) + ',' +
              hex(access.begin) + ',' + text(access.size * access.rows * access.slices));
}

// An operation, or what the host did at this point of its lane.
std::string place_of(const Step &step) {
  return step.by_host() ? list("\"host\"," + text(step.moment.tick))
                        : list("\"operation\"," + text(step.number));
}

}  // namespace

void start() {
  const std::string path = process_file("SIMCUDA_TRACE_DIR", ".trace");
  if (path.empty() || on) return;
  file().descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file().descriptor < 0) {
    refuse_setting("SIMCUDA_TRACE_DIR", path.c_str(), std::strerror(errno));
    return;
  }
  describe_process();
  on = true;
}

void Call::begin(const char *name, Arguments arguments) {
  if (process_was_forked()) return;
  const Site site = thread_state().site;
  describe(site);
  std::string values;
  for (const Argument &argument : arguments)
    add(values, argument.hex ? hex(argument.value)
                             : std::to_string(static_cast<std::int64_t>(argument.value)));
  const std::uint64_t thread = thread_number();
  number_ = ++file().calls;
  outer_ = std::exchange(here().call, number_);
  write_line("call", number_, thread, quoted(name), site, list(values));
}

void Call::returns(CUresult result) const {
  if (number_ && result != CUDA_SUCCESS) write_line("result", number_, result);
}

void Call::end() const {
  here().call = outer_;
}

std::uint64_t current_call() {
  return here().call;
}

void submitted(const Operation &operation) {
  describe(*operation.stream);
  describe(operation.made_at);
  std::string before, accesses;
  for (auto &other : operation.waits_for) add(before, text(other->id));
  for (auto &access : operation.accesses) add(accesses, described(access));
  const Moment &moment = operation.step->moment;
  write_line("operation", operation.id, current_call(), quoted(operation.what),
             quoted(operation.launch ? operation.launch->code->name.c_str() : ""),
             operation.stream->id, operation.branch, operation.made_at, list(before),
             list(accesses), moment.lane, moment.tick);
}

void used(const Operation &operation, const char *effect, const Allocation &allocation,
          std::uintptr_t begin, std::size_t bytes, const std::string &how) {
  write_line("used", operation.id, quoted(effect), describe(&allocation), hex(begin), bytes,
             quoted(how.c_str()));
}

void host_saw(const Moment &moment) {
  write_line("saw", thread_number(), current_call(), moment.lane, moment.tick);
}

void host_used(const Step &step) {
  write_line("host", thread_number(), current_call(), step.moment.tick, quoted(step.call));
}

void raced(const Race &race, const std::string &report) {
  write_line("race", place_of(*race.earlier.step), place_of(*race.later.step),
             describe(race.allocation.get()), hex(race.begin), hex(race.end),
             quoted(report.c_str()));
}

void found(const Operation &operation, const std::string &report) {
  write_line("found", operation.id, quoted(report.c_str()));
}

void found_in_call(const std::string &report) {
  write_line("wrong", current_call(), quoted(report.c_str()));
}

void forgot_races() {
  write_line("forget");
}

}  // namespace simcuda::trace
