// SPDX-License-Identifier: BSD-3-Clause
// The state of the simulated driver, and of each thread that calls it.
#pragma once

#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "ipc.h"
#include "memory.h"
#include "module.h"  // of the engine that executes PTX
#include "objects.h"
#include "schedule.h"
#include "texture.h"
#include "virtual_memory.h"

namespace simcuda {

struct ThreadState {
  std::vector<std::shared_ptr<Context>> contexts;  // the top is current
  int capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  bool per_thread_default = false;
  bool driver_thread = false;
  bool ends_user_objects = false;                 // those without references
  std::vector<std::function<void()>> after_call;  // callbacks to the client, called without a lock
  const char *call = "";                          // the base name of the current call
  Site site = 0;                                  // and its call site
  std::uintptr_t stale = 0;   // a handle that it was given and that is not, or no longer, valid
  const char *stale_of = "";  // what it should be, for example a stream
  bool stale_lives = false;   // it is an object of another type
  StepPtr running;            // the host function that runs on this thread
  StepPtr last;               // its last step, if races are looked for
};

// The environment, read once.
struct Settings {
  bool enabled;
  bool banner;
  bool reuse_handles;
  bool strict;
  bool call_sites;
  bool stale_handles;  // whether their use is a finding
  bool gil;            // whether a call with Python's lock is one
  int driver_version;
  int devices;               // of the machine
  std::vector<int> visible;  // the ones that the process sees
  bool two_addresses;        // for registered and write-combined memory
  std::uint64_t device_memory;
  std::chrono::milliseconds quiet;
  Schedule::Policy policy;
  RaceMode races;
  kernel::Checks checks;  // inside kernels
  std::chrono::seconds kernel_limit;
  unsigned kernel_threads;

  static const Settings &get();
  // Whether the driver has that version, or a newer one.
  bool is_since(int version) const { return driver_version >= version; }
};

// By a device's number on the machine. uuid_text() has the form of CUDA_VISIBLE_DEVICES.
CUuuid uuid_of(int physical);
std::string uuid_text(int physical);

// Reports an invalid variable of the environment; cuInit will fail.
void refuse_setting(const char *name, const char *text, const std::string &why);
bool settings_are_refused();

// Handles are addresses in a reserved range that cannot be accessed. They recur only on request or
// when the range is used up. So a stale handle is found at once, where a real driver may crash.
class HandleSpace {
 public:
  HandleSpace();
  std::uintptr_t take();
  void give_back(std::uintptr_t handle);
  bool has_given(std::uintptr_t handle) const { return handle >= begin_ && handle < next_; }
  // Of one that was given.
  bool is_live(std::uintptr_t handle) const { return live_[(handle - begin_) / handle_stride]; }

 private:
  static constexpr std::size_t handle_stride = 64;

  std::uintptr_t begin_, next_, end_;
  std::deque<std::uintptr_t> free_;
  std::vector<bool> live_;
};

template <class Handle, class Object>
class Registry {
 public:
  explicit Registry(HandleSpace &space) : space_(space) {}
  Handle add(std::shared_ptr<Object> object) {
    auto handle = reinterpret_cast<Handle>(space_.take());
    object->handle = handle;
    ended_.erase(handle);
    objects_.emplace(handle, std::move(object));
    return handle;
  }
  std::shared_ptr<Object> find(Handle handle) const {
    if (auto it = objects_.find(handle); it != objects_.end()) return it->second;
    auto it = retired_.find(handle);
    return it == retired_.end() ? nullptr : it->second;
  }
  std::shared_ptr<Object> get(Handle handle, CUresult otherwise = CUDA_ERROR_INVALID_HANDLE) const {
    auto object = find(handle);
    if (!object)
      throw Refused{went_with_context(handle) ? CUDA_ERROR_CONTEXT_IS_DESTROYED : otherwise};
    return object;
  }
  void remove(Handle handle) {  // the object must exist
    objects_.erase(handle);
    space_.give_back(reinterpret_cast<std::uintptr_t>(handle));
  }
  // The object is destroyed and can still be found. The others are no slower for its being there.
  void retire(Handle handle) { retired_.insert(objects_.extract(handle)); }
  bool went_with_context(Handle handle) const { return ended_.contains(handle); }
  void end_with_context(Handle handle) {
    remove(handle);
    ended_.insert(handle);
  }
  std::size_t size() const { return objects_.size(); }
  std::vector<std::shared_ptr<Object>> all() const {
    std::vector<std::shared_ptr<Object>> found;
    for (auto &[handle, object] : objects_) found.push_back(object);
    return found;
  }

 private:
  HandleSpace &space_;
  std::unordered_map<Handle, std::shared_ptr<Object>> objects_, retired_;
  std::unordered_set<Handle> ended_;  // still known to the driver, as of destroyed contexts
};

// Made by cuInit, and never destroyed: calls may come until the process ends.
struct Driver {
  explicit Driver(const Settings &settings);

  std::vector<Device> devices;
  CoredumpSettings coredump;
  HandleSpace handles;
  Registry<CUcontext, Context> contexts{handles};
  Registry<CUstream, Stream> streams{handles};
  Registry<CUevent, Event> events{handles};
  Registry<CUmemoryPool, Pool> pools{handles};
  Registry<CUarray, Array> arrays{handles};
  Registry<CUmipmappedArray, MipmappedArray> mipmapped_arrays{handles};
  Registry<TextureHandle, TextureObject> textures{handles};  // and surfaces
  DestroyedTextures destroyed_textures;
  Registry<CUgraph, Graph> graphs{handles};
  Registry<CUgraphNode, GraphNode> graph_nodes{handles};
  Registry<CUgraphExec, GraphExec> graph_execs{handles};
  Registry<CUuserObject, UserObject> user_objects{handles};
  Registry<CUgreenCtx, GreenContext> green_contexts{handles};
  Registry<CUdevResourceDesc, ResourceDescriptor> resource_descriptors{handles};
  Registry<CUmodule, Module> modules{handles};
  Registry<CUlibrary, Library> libraries{handles};
  Registry<CUfunction, Function> functions{handles};
  Registry<CUlinkState, LinkState> link_states{handles};
  Races races;
  Memory memory;
  Schedule schedule;
  Ipc ipc{schedule, races};
  std::vector<Capture *> captures;                // in progress; their streams own them
  std::set<std::shared_ptr<Pool>> pools_to_trim;  // at the next synchronisation
  // The default and the current pools of managed and host memory, by type and location.
  std::map<std::tuple<int, int, int>, std::pair<std::shared_ptr<Pool>, std::shared_ptr<Pool>>>
      other_pools;
  Registry<PhysicalHandle, PhysicalMemory> physical_memory{handles};
  std::map<std::uintptr_t, Reservation> reservations;  // by their first address
  std::uint64_t last_context_id = 0, last_stream_id = 0, last_capture_id = 0;

  Device &device(CUdevice ordinal);
  std::shared_ptr<Context> new_context(CUdevice device, unsigned flags, unsigned api_version);
  void revive(Context &context);
  std::shared_ptr<Context> retain_primary(CUdevice device);
  void release_primary(CUdevice device, Lock &lock);
  // Finishes and destroys everything that belongs to a context, unless another thread does.
  void tear_down(Context &context, Lock &lock);
  // Finishes the context's work. Returns whether the context still exists, and was not replaced.
  bool finish_work_of(const Context &context, Lock &lock);
  void end(Context &context);
  std::shared_ptr<Stream> new_stream(std::shared_ptr<Context> context, Stream::Kind kind,
                                     unsigned flags, int priority);
};

// Errors after which a context can only be destroyed.
bool is_sticky(CUresult error);
void refuse_failed(const Context &context);
// A lost device destroys its contexts for good.
inline constexpr CUresult of_lost_device = CUDA_ERROR_UNKNOWN;
void lose_device(Driver &driver, Device &device);
void refuse_lost(const Device &device);
// For memory that a call names, in any context.
void refuse_lost(Driver &driver, const Allocation &allocation);
// Whether its context still lets it run.
bool may_run(const Operation &operation);
// Does its work. A failure makes its context unusable.
void run_work(const Operation &operation);
// The same for a kernel. The lock is released while it runs.
void run_kernel(const Operation &operation, Lock &lock);
// Prepares the work of a kernel that is about to be submitted.
void begin_kernel(Operation &operation);
// An error that was injected into a call: if it is sticky, the current context becomes unusable.
void fail_current(CUresult error);

ThreadState &thread_state();
void become_driver_thread();
std::mutex &simulator_mutex();
// Null before cuInit.
Driver *driver();
CUresult initialise();
bool process_is_ending();
bool process_was_forked();

// One call in progress, with the simulator's lock.
class Session {
 public:
  explicit Session(ThreadState &caller)
      : driver(*simcuda::driver()), thread(caller), lock(simulator_mutex()) {
    driver.ipc.learn();
    driver.schedule.stir(lock);
  }

  Driver &driver;
  ThreadState &thread;
  Lock lock;

  std::shared_ptr<Context> current();                  // or INVALID_CONTEXT, CONTEXT_IS_DESTROYED
  std::shared_ptr<Context> context(CUcontext handle);  // null means the current one
  std::shared_ptr<Stream> stream(CUstream handle);
  std::shared_ptr<Event> event(CUevent handle);  // not one whose process has destroyed it
  // Created objects, not the default ones; they may have been destroyed. If an object was destroyed
  // with its context, most calls of a real driver fail; others crash, as for an object that was
  // destroyed by a call.
  std::shared_ptr<Stream> made_stream(CUstream handle);
  std::shared_ptr<Event> made_event(CUevent handle);
  void note_stale(const char *what, std::uintptr_t handle);

  // If the work of a context fails, these return its error.
  // Waits for work, as a call that blocks the host does: the host continues after it.
  void finish(const std::vector<OperationPtr> &operations);
  // The same for a stream,
  void finish(const std::shared_ptr<Stream> &stream);
  // and for all work of some contexts.
  void finish(const Races::Chosen &chosen);
  // Called before memory of a device is freed: afterwards no submitted work uses it.
  void finish_device(int device);
  // Whether work is done. If so, the host continues after it.
  bool query(const std::vector<OperationPtr> &operations);
  bool query(const std::shared_ptr<Stream> &stream);

  // Submits work to a stream, or adds it to the stream's capture.
  OperationPtr submit(const std::shared_ptr<Stream> &stream, const char *what,
                      std::vector<Access> accesses, std::function<void()> run,
                      bool after_errors = false);
  OperationPtr submit(const std::shared_ptr<Stream> &stream, OperationPtr operation);

 private:
  std::vector<OperationPtr> promised(Stream &stream) const;
};

}  // namespace simcuda
