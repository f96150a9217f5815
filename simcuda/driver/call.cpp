// SPDX-License-Identifier: BSD-3-Clause
#include "call.h"
#include "array.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "array.h"
#include "check_report.h"
#include "python_frames.h"
#include "race_report.h"
#include "simcuda.h"
#include "table.h"
#include "tally.h"

namespace simcuda {

struct Entry {
  struct Fault {
    std::uint64_t remaining;  // calls until it takes effect; 1 is the next call
    CUresult result;
    std::uint64_t stated = 0;  // the number set by the environment
  };

  std::string_view base;
  bool is_reported = false;  // the call site, for a report of a race
  bool loads = false;        // a program that calls nothing else has only loaded the driver
  std::atomic<std::uint64_t> calls{0};
  std::atomic<bool> missed{false};  // not implemented, and the client was told
  std::vector<Fault> faults;
};

namespace {

std::atomic<std::uint64_t> unsupported_calls{0};

// Faults and counters have a lock of their own. It is held briefly, before the simulator's.
std::mutex &entries_mutex() {
  static auto *mutex = new std::mutex;
  return *mutex;
}

struct Entries {
  std::unordered_map<std::string_view, Entry *> by_symbol, by_base;
};

void add_fault(Entry &entry, std::uint64_t nth, CUresult result) {
  std::lock_guard guard(entries_mutex());
  if (nth == 0)
    entry.faults.clear();
  else
    entry.faults.push_back({nth, result});
}

// SIMCUDA_FAIL=name:nth:status,...
void read_faults(const Entries &entries) {
  const char *text = std::getenv("SIMCUDA_FAIL");
  if (!text) return;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string item(rest.substr(0, rest.find(',')));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    char name[128];
    unsigned long long nth = 0;
    int status = 0, used = 0;
    const bool read =
        std::sscanf(item.c_str(), "%127[^:]:%llu:%d%n", name, &nth, &status, &used) == 3 &&
        static_cast<std::size_t>(used) == item.size() && nth > 0;
    auto found = read ? entries.by_base.find(name) : entries.by_base.end();
    if (!read)
      refuse_setting("SIMCUDA_FAIL", text, '"' + item + "\" is not name:nth:status");
    else if (found == entries.by_base.end())
      refuse_setting("SIMCUDA_FAIL", text, std::string("the driver has no function ") + name);
    else
      found->second->faults.push_back({nth, status, nth});
  }
}

// Calls that submit work, or create or destroy objects. To find the call site takes longer than
// most calls. So calls that query or wait, perhaps in a loop, do not do it.
bool is_reported(std::string_view base) {
  constexpr std::string_view beginnings[] = {
      "cuArray",        "cuCtxDestroy",        "cuDevicePrimaryCtx",
      "cuGraph",        "cuGreenCtx",          "cuIpc",
      "cuLaunch",       "cuLibraryUnload",     "cuMem",
      "cuModuleUnload", "cuStreamAddCallback", "cuStreamAttach",
      "cuStreamBatch",  "cuStreamCreate",      "cuStreamWrite"};
  return std::any_of(std::begin(beginnings), std::end(beginnings),
                     [&](std::string_view beginning) { return base.starts_with(beginning); });
}

Entries &entries() {
  static Entries *all = [] {
    auto *made = new Entries;
    for (std::size_t i = 0; i < symbol_count; ++i) {
      Entry *&entry = made->by_base[symbols[i].base];
      if (!entry) {
        entry = new Entry;
        entry->base = symbols[i].base;
        entry->is_reported = is_reported(entry->base);
      }
      made->by_symbol[symbols[i].name] = entry;
    }
    for (auto base : {"cuInit", "cuGetProcAddress", "cuDriverGetVersion"})
      made->by_base.at(base)->loads = true;
    read_faults(*made);
    return made;
  }();
  return *all;
}

void clear_faults() {
  std::lock_guard guard(entries_mutex());
  for (auto &[base, entry] : entries().by_base) entry->faults.clear();
}

Entry *entry_of_base(const char *name) {
  if (!name) return nullptr;
  auto found = entries().by_base.find(name);
  return found == entries().by_base.end() ? nullptr : found->second;
}

int log_file() {
  static const int file = [] {
    const char *path = std::getenv("SIMCUDA_LOG");
    if (!path || !*path) return -1;
    const int opened = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (opened < 0) refuse_setting("SIMCUDA_LOG", path, std::strerror(errno));
    return opened;
  }();
  return file;
}

// One write for each line, so that lines of several threads or processes are not mixed.
void log_line(const std::string &line) {
  [[maybe_unused]] auto written = write(log_file(), line.data(), line.size());
}

void keep_site(bool is_wanted) {
  Site site = 0;
  try {
    // Python may meanwhile run code that calls the driver, too.
    if (is_wanted) site = find_call_site();
  } catch (const std::exception &) {  // no memory: the call goes on without its site
  }
  thread_state().site = site;
}

void lose_current() {
  ThreadState &thread = thread_state();
  if (thread.contexts.empty()) return;
  Lock lock(simulator_mutex());
  lose_device(*driver(), driver()->device(thread.contexts.back()->device));
}

}  // namespace

Entry &entry_of_symbol(const char *symbol) {
  return *entries().by_symbol.at(symbol);
}

const char *base_name(const Entry &entry) {
  return entry.base.data();  // whole in the table
}

CUresult admit(Entry &entry, bool needs_driver) {
  entry.calls.fetch_add(1, std::memory_order_relaxed);
  if (process_is_ending()) return CUDA_ERROR_DEINITIALIZED;
  // Without a lock, which a thread that does not exist here any more may hold.
  if (process_was_forked()) return needs_driver ? CUDA_ERROR_NOT_INITIALIZED : CUDA_SUCCESS;
  if (!entry.loads) tally().calls.fetch_add(1, std::memory_order_relaxed);
  if (needs_driver && Settings::get().gil && holds_gil()) tell_gil(entry);
  bool lose = false;
  {
    std::lock_guard guard(entries_mutex());
    CUresult injected = CUDA_SUCCESS;
    std::erase_if(entry.faults, [&](Entry::Fault &fault) {
      if (--fault.remaining > 0) return false;
      injected = fault.result;
      return true;
    });
    if (injected != CUDA_SUCCESS && injected != SIMCUDA_LOSE_DEVICE) return injected;
    lose = injected == SIMCUDA_LOSE_DEVICE;
  }
  if (!needs_driver) return CUDA_SUCCESS;
  // A host function may not call CUDA.
  if (thread_state().driver_thread) return CUDA_ERROR_NOT_PERMITTED;
  if (!driver()) return CUDA_ERROR_NOT_INITIALIZED;
  driver()->schedule.touch();
  if (lose) lose_current();
  return CUDA_SUCCESS;
}

void call_client(ThreadState &thread) {
  if (thread.after_call.empty()) return;
  thread.driver_thread = true;  // destructors may not call CUDA either
  for (auto &function : std::exchange(thread.after_call, {})) function();
  thread.driver_thread = false;
}

void find_site(const Entry &entry) {
  const bool is_wanted = trace::on || (Settings::get().call_sites && entry.is_reported);
  keep_site(is_wanted && !process_was_forked());
}

void tell_gil(const Entry &entry) {
  keep_site(Settings::get().call_sites);
  tell_of_call(base_name(entry),
               "is called with Python's GIL held: what it waits for may need the GIL",
               thread_state().site);
}

void tell_stale(const Entry &entry) {
  ThreadState &thread = thread_state();
  const std::uintptr_t stale = std::exchange(thread.stale, 0);
  if (!Settings::get().stale_handles) return;
  keep_site(Settings::get().call_sites);
  char handle[24];
  std::snprintf(handle, sizeof handle, "0x%" PRIxPTR, stale);
  const std::string what = thread.stale_of;
  tell_of_call(base_name(entry),
               "is given " + what + ' ' + handle + ", which " +
                   (thread.stale_lives ? "is no " + what : "has been destroyed") +
                   ": a real driver may crash",
               thread.site);
}

void say_faults_left() {
  std::lock_guard guard(entries_mutex());
  for (auto &[base, entry] : entries().by_base)
    for (const Entry::Fault &fault : entry->faults)
      if (fault.stated)
        say("simcuda: SIMCUDA_FAIL: " + std::string(base) + " was to fail in its call " +
            std::to_string(fault.stated) + ", and was called " +
            std::to_string(fault.stated - fault.remaining) + " times\n");
}

void read_call_settings() {
  entries();
  log_file();
  trace::start();
}

void note_unsupported(const char *symbol) {
  if (Settings::get().enabled && !entry_of_symbol(symbol).missed.exchange(true)) {
    // Any program that loads the runtime asks for its tables, and most use nothing of them.
    if (std::strcmp(symbol, "cuGetExportTable") != 0)
      std::fprintf(
          stderr,
          "simcuda: %s is not implemented and returns CUDA_ERROR_NOT_SUPPORTED (801): test what "
          "needs it on a GPU (simcuda's docs/rules.md lists what is there, and what is not)\n",
          symbol);
    tally_unsupported(symbol);
  }
  unsupported_calls.fetch_add(1, std::memory_order_relaxed);
}

CUresult unsupported(const char *symbol) {
  note_unsupported(symbol);
  return call_without_driver(symbol, {}, [] { return CUDA_ERROR_NOT_SUPPORTED; });
}

void log_call(const char *symbol, Arguments arguments, CUresult result) {
  if (log_file() < 0) return;
  std::string line = std::string(symbol) + '(';
  const char *comma = "";
  for (const Argument &argument : arguments) {
    char text[32];
    std::snprintf(text, sizeof text, argument.hex ? "%s%#llx" : "%s%lld", comma,
                  static_cast<unsigned long long>(argument.value));
    line += text;
    comma = ", ";
  }
  log_line(line + ") = " + std::to_string(result) + '\n');
}

void log_operation(const Operation &operation) {
  if (log_file() < 0) return;
  log_line("  runs #" + std::to_string(operation.id) + ' ' + operation.what + " on stream " +
           std::to_string(operation.stream->id) + '\n');
}

}  // namespace simcuda

// The simulator's own exports, for tests. They change nothing for the client, except for faults
// that it requested.
SIM_API std::uint64_t simcuda_calls(const char *name) {
  if (!name) {
    std::uint64_t sum = 0;
    for (auto &[base, entry] : simcuda::entries().by_base) sum += entry->calls;
    return sum;
  }
  simcuda::Entry *entry = simcuda::entry_of_base(name);
  return entry ? entry->calls.load() : UINT64_MAX;
}

SIM_API std::uint64_t simcuda_unsupported(void) {
  return simcuda::unsupported_calls.load();
}

SIM_API void simcuda_reset_counts(void) {
  for (auto &[base, entry] : simcuda::entries().by_base) entry->calls = 0;
  simcuda::unsupported_calls = 0;
}

SIM_API std::int32_t simcuda_fail(const char *name, std::uint64_t nth, std::int32_t status) {
  simcuda::Entry *entry = simcuda::entry_of_base(name);
  if (!entry) return CUDA_ERROR_NOT_FOUND;
  if (simcuda::process_was_forked()) return CUDA_ERROR_NOT_INITIALIZED;
  simcuda::add_fault(*entry, nth, status);
  return CUDA_SUCCESS;
}

SIM_API std::uint64_t simcuda_pending(void) {
  simcuda::Driver *driver = simcuda::driver();
  if (!driver || simcuda::process_was_forked()) return 0;
  simcuda::Lock lock(simcuda::simulator_mutex());
  return driver->schedule.pending();
}

SIM_API std::uint64_t simcuda_objects(const char *type) {
  simcuda::Driver *driver = simcuda::driver();
  if (!driver || !type || simcuda::process_was_forked()) return UINT64_MAX;
  simcuda::Lock lock(simcuda::simulator_mutex());
  const std::string_view name = type;
  if (name == "CUcontext") {
    std::uint64_t count = driver->contexts.size();
    for (const simcuda::Device &device : driver->devices) count += device.primary_references;
    return count;
  }
  if (name == "CUdeviceptr") {
    const auto all = driver->memory.all();
    return static_cast<std::uint64_t>(std::count_if(all.begin(), all.end(), [](const auto &each) {
      return !each->free_submitted && !each->of_module;
    }));
  }
  if (name == "CUmemoryPool") {
    const auto all = driver->pools.all();
    return static_cast<std::uint64_t>(
        std::count_if(all.begin(), all.end(), [](const auto &each) { return !each->is_default; }));
  }
  if (name == "CUstream") return driver->streams.size();
  if (name == "CUevent") return driver->events.size();
  if (name == "CUarray") {
    const auto all = driver->arrays.all();
    return static_cast<std::uint64_t>(
        std::count_if(all.begin(), all.end(), [](const auto &each) { return !each->is_level; }));
  }
  if (name == "CUmipmappedArray") return driver->mipmapped_arrays.size();
  if (name == "CUtexObject" || name == "CUsurfObject") {
    const auto all = driver->textures.all();
    return static_cast<std::uint64_t>(std::count_if(all.begin(), all.end(), [&](const auto &each) {
      return each->texels.is_surface == (name == "CUsurfObject");
    }));
  }
  if (name == "CUgraph") return driver->graphs.size();
  if (name == "CUgraphExec") return driver->graph_execs.size();
  if (name == "CUuserObject") return driver->user_objects.size();
  return UINT64_MAX;
}

SIM_API std::uint64_t simcuda_races(void) {
  return simcuda::races_found();
}

SIM_API std::uint64_t simcuda_findings(void) {
  return simcuda::findings_so_far();
}

SIM_API std::int32_t simcuda_host_access(const void *address, std::uint64_t size,
                                         std::int32_t write) {
  if (simcuda::process_was_forked() || !simcuda::driver()) return CUDA_ERROR_NOT_INITIALIZED;
  if (size == 0) return CUDA_SUCCESS;
  return simcuda::guarded([&] {
    simcuda::keep_site(simcuda::trace::on || simcuda::Settings::get().call_sites);
    simcuda::Driver &driver = *simcuda::driver();
    simcuda::Lock lock(simcuda::simulator_mutex());
    const auto place = driver.memory.place(simcuda::address_of(address), size);
    if (!place.host_visible()) throw simcuda::Refused{CUDA_ERROR_INVALID_VALUE};
    simcuda::thread_state().call = "the host's access";
    driver.races.host_uses({place.allocation, place.address, size, write != 0});
  });
}

SIM_API void simcuda_forget(void) {
  if (simcuda::process_was_forked()) return;
  if (simcuda::thread_state().driver_thread) return;  // it would wait for itself
  simcuda::Driver *driver = simcuda::driver();
  if (!driver) return;
  simcuda::Lock lock(simcuda::simulator_mutex());
  const auto all = [](const simcuda::Context &) { return true; };
  driver->schedule.finish(driver->schedule.pending_of(all), lock);
  driver->races.forget(driver->memory.all());
  simcuda::forget_findings();
  driver->memory.forget_freed();
}

SIM_API void simcuda_reseed(std::uint64_t seed) {
  if (simcuda::process_was_forked()) return;
  simcuda::Driver *driver = simcuda::driver();
  if (!driver) return;
  simcuda::Lock lock(simcuda::simulator_mutex());
  driver->schedule.reseed(seed);
}

SIM_API void simcuda_reset(void) {
  if (simcuda::process_was_forked()) return;
  if (simcuda::thread_state().driver_thread) return;
  simcuda_reset_counts();
  simcuda::clear_faults();
  simcuda_forget();
}

SIM_API std::uint64_t simcuda_last_work(void) {
  simcuda::Driver *driver = simcuda::driver();
  if (!driver || simcuda::process_was_forked()) return 0;
  simcuda::Lock lock(simcuda::simulator_mutex());
  return driver->races.mark(simcuda::thread_state().last);
}

SIM_API std::int32_t simcuda_ordered(std::uint64_t first, std::uint64_t second) {
  simcuda::Driver *driver = simcuda::driver();
  if (!driver || simcuda::process_was_forked()) return -1;
  simcuda::Lock lock(simcuda::simulator_mutex());
  const simcuda::StepPtr before = driver->races.marked(first);
  const simcuda::StepPtr after = driver->races.marked(second);
  if (!before || !after) return -1;
  return before != after && after->moment.comes_after(before->moment);
}
