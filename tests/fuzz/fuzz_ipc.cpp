// SPDX-License-Identifier: BSD-3-Clause
// Handles of another process's memory, and what becomes of them on their way. What is opened is as
// many bytes as the handle says, the ones that the other process has there; whatever else the
// handle says is refused for its reason, and nothing stays open. On simcuda.
#include <cai/memory.h>
#include <fcntl.h>
#include <unistd.h>

#include "input.hpp"
#include "wide.hpp"

extern "C" int LLVMFuzzerInitialize(int *argc, char ***argv);

namespace {

constexpr cai_device gpu0{CAI_DEVICE_CUDA, 0}, gpu1{CAI_DEVICE_CUDA, 1};
constexpr std::uint64_t memory_size = 4096;
constexpr cai_dtype bytes_type{'u', '|', 0, 0, 1, 0};

struct Shared {
  cai_ipc_handle handle;
  int fd;
};
constexpr unsigned shared_count = 4;  // plain memory and a pool's, and a view of each
Shared all_shared[shared_count];
int other_file = -1;  // no pool's

std::uint8_t byte_at(bool of_pool, std::uint64_t place) {
  return static_cast<std::uint8_t>(place * 7 + place / 256 + (of_pool ? 100 : 0));
}

cai_array host_array(void *memory, const std::int64_t *size) {
  static constexpr std::int64_t step = 1;
  cai_array a{};
  a.abi_major = CAI_ABI_MAJOR;
  a.data = reinterpret_cast<std::uintptr_t>(memory);
  a.device_type = CAI_DEVICE_CPU;
  a.dtype = bytes_type;
  a.ndim = 1;
  a.shape = size;
  a.strides = &step;
  a.stream_kind = CAI_STREAM_NONE;
  a.version = CAI_INTERFACE_VERSION;
  return a;
}

// ---- The other process

void share(cai_memory *memory, int out) {
  Shared shared{};
  MUST(cai_memory_share(memory, &shared.handle, &shared.fd, nullptr));
  MUST_BE(write(out, &shared, sizeof shared), sizeof shared);
}

void share_all(bool of_pool, int out) {
  cai_request wanted{};
  wanted.struct_size = sizeof wanted;
  wanted.kind = of_pool ? CAI_KIND_ASYNC : CAI_KIND_DEFAULT;
  wanted.size = memory_size;
  const cai_pool_params params{sizeof params, CAI_POOL_EXPORTABLE, 0, 0, 0, 0};
  if (of_pool) MUST(cai_manager_create("pool", &params, gpu0, nullptr, &wanted.manager, nullptr));
  cai_memory *memory = nullptr, *view = nullptr;
  MUST(cai_memory_alloc(gpu0, &wanted, &memory, nullptr));
  std::uint8_t bytes[memory_size];
  for (std::uint64_t i = 0; i < memory_size; ++i) bytes[i] = byte_at(of_pool, i);
  const std::int64_t size = memory_size;
  const cai_array from = host_array(bytes, &size);
  cai_array *to = nullptr;
  MUST(cai_memory_array(memory, 0, &bytes_type, 1, &size, nullptr, &to, nullptr));
  MUST(cai_array_copy(&from, to, nullptr, nullptr));
  MUST(cai_array_sync_host(to, nullptr));
  cai_array_release(to);
  MUST(cai_memory_view(memory, 1000, 3000, &view, nullptr));
  share(memory, out);
  share(view, out);
}

// ---- What is asked of a handle

struct Faults {
  bool value = false, state = false, device = false;
  bool driver = false;  // what is for the driver to know, or it need not be asked
};

std::uint64_t *numbers_of(cai_ipc_handle &handle, unsigned which) {
  std::uint64_t *const all[] = {&handle.size, &handle.offset, &handle.process,
                                &handle.process_start};
  return all[which % 4];
}

void forge(fuzz::Input &input, cai_ipc_handle &handle, int &fd, cai_device &device,
           std::uint32_t &how) {
  switch (input.below(14)) {
    case 0:
      handle.struct_size = static_cast<std::uint32_t>(input.number());
      break;
    case 1:
      handle.kind = static_cast<std::uint32_t>(input.number());
      break;
    case 2:
    case 3:
      *numbers_of(handle, input.below(2)) = static_cast<std::uint64_t>(input.number());
      break;
    case 4:
      *numbers_of(handle, input.below(2)) += static_cast<std::uint64_t>(input.number());
      break;
    case 5:
      *numbers_of(handle, input.below(2)) = 16 * input.word() % 5000;
      break;
    case 6:
      *numbers_of(handle, 2 + input.below(2)) = static_cast<std::uint64_t>(input.number());
      break;
    case 7:
      handle.process = static_cast<std::uint64_t>(input.below(2) ? getpid() : getppid());
      break;
    case 8: {
      const unsigned at = input.byte();
      if (at < 200) {
        handle.uuid[at % 16] ^= input.byte();
        break;
      }
      cai_device_info other{};
      other.struct_size = sizeof other;
      MUST(cai_device_describe(gpu1, &other, nullptr));
      std::memcpy(handle.uuid, other.uuid, sizeof other.uuid);
      break;
    }
    case 9:
      handle.data[input.below(64)] ^= input.byte();
      break;
    case 10:
      handle.pool = input.word();
      break;
    case 11:
      (input.below(2) ? handle.reserved1 : handle.reserved2) = input.byte();
      break;
    case 12:
      device.id = static_cast<std::int32_t>(input.number());
      if (input.below(4) == 1) device.type = static_cast<std::int32_t>(input.below(4));
      how = input.below(6);
      break;
    default:
      fd = input.below(3) == 1 ? -1 : input.below(2) ? other_file : 987654;
      break;
  }
}

// A handle that names the other GPU is opened all the same: whose the memory is the driver knows.
bool is_a_gpu(const std::uint8_t (&uuid)[16]) {
  cai_device found{};
  return cai_device_find(uuid, &found, nullptr) == CAI_OK;
}

Faults faults_of(const cai_ipc_handle &handle, const Shared &from, int fd, cai_device device,
                 std::uint32_t how) {
  const cai_ipc_handle &good = from.handle;
  Faults found;
  found.device =
      device.type != CAI_DEVICE_CUDA || device.id < 0 || device.id > 1 || !is_a_gpu(handle.uuid);
  found.value = device.type != CAI_DEVICE_CUDA || device.id < 0 || how < CAI_OPEN_DIRECT ||
                how > CAI_OPEN_AUTO || handle.struct_size < sizeof handle ||
                handle.kind < CAI_IPC_LEGACY || handle.kind > CAI_IPC_POOL || handle.size == 0 ||
                handle.process == 0 || handle.reserved1 || handle.reserved2 ||
                (handle.kind == CAI_IPC_POOL) != (fd >= 0);
  found.state = handle.process != good.process || handle.process_start != good.process_start;
  found.driver = handle.kind != good.kind || fd != from.fd || handle.pool != good.pool ||
                 std::memcmp(handle.data, good.data, sizeof good.data);
  found.value |= fuzz::wide{handle.offset} + handle.size > memory_size;
  return found;
}

bool may_be(cai_status status, const Faults &faults) {
  switch (status) {
    case CAI_OK:
      return !faults.value && !faults.state && !faults.device;
    case CAI_ERR_VALUE:
      return faults.value;
    case CAI_ERR_STATE:
      return faults.state;
    case CAI_ERR_DEVICE:
      return faults.device;
    default:
      return status == CAI_ERR_CUDA && faults.driver;
  }
}

void require_bytes(cai_memory *memory, const cai_ipc_handle &handle) {
  cai_memory_info info{};
  info.struct_size = sizeof info;
  MUST(cai_memory_describe(memory, &info, nullptr));
  MUST_HOLD(info.size == handle.size);
  const auto size = static_cast<std::int64_t>(handle.size);
  const std::unique_ptr<std::uint8_t[]> bytes(new std::uint8_t[handle.size]);
  const cai_array to = host_array(bytes.get(), &size);
  cai_array *from = nullptr;
  MUST(cai_memory_array(memory, 0, &bytes_type, 1, &size, nullptr, &from, nullptr));
  cai_error error;
  const cai_status status = cai_array_copy(from, &to, nullptr, &error);
  if (status) std::fprintf(stderr, "%s\n", error.message);
  MUST(status);
  cai_array_release(from);
  for (std::uint64_t i = 0; i < handle.size; ++i)
    MUST_HOLD(bytes[i] == byte_at(handle.kind == CAI_IPC_POOL, handle.offset + i));
}

void require_nothing_out() {
  for (const cai_device device : {gpu0, gpu1}) {
    cai_usage usage{};
    usage.struct_size = sizeof usage;
    MUST(cai_memory_usage(device, &usage, nullptr));
    MUST_HOLD(usage.count == 0 && usage.bytes == 0);
  }
}

}  // namespace

// Starts the other process, before there is a driver or a thread here.
extern "C" int LLVMFuzzerInitialize(int *, char ***) {
  int told[2], life[2];
  MUST(pipe2(told, O_CLOEXEC));
  MUST(pipe2(life, O_CLOEXEC));
  const pid_t other = fork();
  MUST_HOLD(other >= 0);
  if (other == 0) {
    close(life[1]);  // or it would wait for itself
    for (const bool of_pool : {false, true}) share_all(of_pool, told[1]);
    char end = 0;
    MUST_BE(read(life[0], &end, 1), 0);
    _exit(0);
  }
  close(told[1]);
  close(life[0]);
  for (Shared &each : all_shared) {
    MUST_BE(read(told[0], &each, sizeof each), sizeof each);
    if (each.fd < 0) continue;
    const std::string path = "/proc/" + std::to_string(other) + "/fd/" + std::to_string(each.fd);
    each.fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
    MUST_HOLD(each.fd >= 0);
  }
  close(told[0]);
  other_file = open("/dev/null", O_RDWR | O_CLOEXEC);
  MUST_HOLD(other_file >= 0);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  fuzz::Input input(data, size);
  struct Opened {
    cai_memory *memory;
    const cai_ipc_handle handle;
  };
  std::vector<Opened> opened;
  do {
    const Shared &from = all_shared[input.below(shared_count)];
    // A block of its own, so that a sanitizer sees a read beyond it.
    const auto handle = std::make_unique<cai_ipc_handle>(from.handle);
    int fd = from.fd;
    cai_device device{CAI_DEVICE_CUDA, static_cast<std::int32_t>(input.below(2))};
    std::uint32_t how = CAI_OPEN_STAGED + input.below(2);
    if (device.id == 0 && input.below(2)) how = CAI_OPEN_DIRECT;
    for (unsigned n = input.below(3); n > 0; --n) forge(input, *handle, fd, device, how);
    const Faults faults = faults_of(*handle, from, fd, device, how);
    cai_memory *memory = nullptr;
    cai_error error;
    const cai_status status =
        cai_memory_open(handle.get(), fd, device, nullptr, how, &memory, &error);
    if (!may_be(status, faults)) std::fprintf(stderr, "%s\n", status ? error.message : "opened");
    MUST_HOLD(may_be(status, faults));
    if (status) {
      fuzz::require_error(status, error);
      MUST_HOLD(!memory);
    } else {
      require_bytes(memory, *handle);
      opened.push_back({memory, *handle});
    }
  } while (!input.done() && opened.size() < 4);
  for (const Opened &each : opened) {  // the others are as they were
    require_bytes(each.memory, each.handle);
    cai_memory_release(each.memory);
  }
  require_nothing_out();
  return 0;
}
