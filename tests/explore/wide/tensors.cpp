// SPDX-License-Identifier: BSD-3-Clause
// Who asks for a tensor, for a stream of his own: without libcai, and works there until he calls
// its deleter; or with libcai, and makes an array of it.
#include <algorithm>
#include <utility>

#include "must.h"
#include "parties.hpp"

namespace wide {
namespace {

// A tensor that wraps libcai's, to learn of its end.
struct Told {
  DLManagedTensorVersioned tensor;
  DLManagedTensorVersioned *inner;
  int number;

  static void end(DLManagedTensorVersioned *tensor) {
    auto *const self = reinterpret_cast<Told *>(tensor);
    World &world = *World::current;
    Tensor &it = world.tensors[self->number];
    if (!it.there) world.fail("a tensor ended twice");
    it.there = false;
    Block &block = world.blocks[it.block];
    // Nothing may be recorded there yet, so it lives on. The driver is asked where none of its
    // calls is to fail.
    if (world.fault.is_armed() || world.is_capturing(it.stream)) block.told |= 1U << it.stream;
    self->inner->deleter(self->inner);
    delete self;
  }
};

}  // namespace

void ask_tensor(World &world, const Step &step) {
  Tensor &tensor = world.tensors[step[1]];
  const int number = world.array(step[2]);
  const int stream = world.stream(step[3]);
  if (tensor.there || number < 0 || !world.may_work(stream) || world.is_forked(stream)) return;
  if (!world.may_say(number, stream)) return;
  const Array &array = world.arrays[number];
  Block &block = world.blocks[array.block];
  // A tensor has no mask; borrowed arrays cannot be held; and an owner with functions of its own is
  // not told of consumers.
  if (block.is_masked || block.keeper == kBorrowed || block.keeper == kAlone) return;
  // Consumers of another import, or of the array that a tensor is of, do not learn of it.
  if (block.owners > 1 || (array.tensor >= 0 && array.said != stream)) return;
  if (world.conflicts(number, step[4] == 1) || !world.may_use(number)) return;
  if (world.is_pending_before_capture(array.block)) return;
  // Beside a reader it is for reading at once: it does not come after unfinished reads.
  const bool is_beside_reader = world.conflicts(number, true);
  DLManagedTensorVersioned *inner = nullptr;
  cai_status status = CAI_OK;
  world.say("tensor %u: of array %d, for %s", step[1], number, kStreamNames[stream]);
  world.quietly([&] {
    status = cai_dlpack_write(world.pointer(number), machine().value(stream), &inner, &world.error);
  });
  if (world.fault.has_struck()) block.copied = true;  // as far as the owner knows
  if (!world.is_taken(status)) return;
  world.met(Call::tensor, number, stream);
  auto *const told = new Told{*inner, inner, static_cast<int>(step[1])};
  told->tensor.deleter = Told::end;
  tensor = {true,  number,        array.block, stream, array.tensor, world.capture_of(stream),
            false, &told->tensor, false};
  block.copied = true;
  // The array's own stream the owner goes on to tell of, as after a dict.
  if (array.said == stream && !array.is_view) block.told |= 1U << stream;
  const bool has_work = step[4] != 2;
  if (has_work) world.touch_by_tensor(static_cast<int>(step[1]), stream, step[4] == 1);
  tensor.is_stale = is_beside_reader;
}

// Further work, which nobody else's was in between of.
void use_tensor(World &world, const Step &step) {
  const Tensor &tensor = world.tensors[step[1]];
  if (!tensor.held || tensor.is_stale) return;
  const bool is_elsewhere =
      is_per_thread(tensor.stream) && tensor.stream != kPerThread + world.thread;
  if (is_elsewhere || !world.may_work(tensor.stream)) return;
  if (world.capture_of(tensor.stream) != tensor.capture) return;
  if (tensor.capture && !world.has_array_of(tensor)) return;
  if (world.conflicts_in(tensor.block, step[2])) return;
  world.say("tensor %u is %s on %s", step[1], step[2] ? "written" : "read",
            kStreamNames[tensor.stream]);
  world.touch_by_tensor(static_cast<int>(step[1]), tensor.stream, step[2]);
}

void delete_tensor(World &world, const Step &step) {
  Tensor &tensor = world.tensors[step[1]];
  if (!tensor.held) return;
  let_tensor_go(world, tensor);
}

void let_tensor_go(World &world, Tensor &tensor) {
  world.say("the tensor for %s is deleted", kStreamNames[tensor.stream]);
  // As in let_go().
  if (world.any_captures() && world.fault.is_for_memory()) world.fault.forget();
  world.fault.spare_memory();
  world.releases = true;
  DLManagedTensorVersioned *const held = std::exchange(tensor.held, nullptr);
  world.quietly([&] { held->deleter(held); });
  world.releases = false;
}

void own_tensor(World &world, const Step &step) {
  Tensor &tensor = world.tensors[step[1]];
  Array *const array = world.free_array(step[2]);
  if (!tensor.held || !array) return;
  const bool is_elsewhere =
      is_per_thread(tensor.stream) && tensor.stream != kPerThread + world.thread;
  if (is_elsewhere) return;
  cai_array *made = nullptr;
  cai_status status = CAI_OK;
  world.quietly([&] {
    status = cai_dlpack_own(tensor.held, machine().value(tensor.stream), &made, &world.error);
  });
  if (!world.is_taken(status)) return;
  tensor.held = nullptr;
  *array = Array{};
  array->there = true;
  array->block = tensor.block;
  array->said = tensor.stream;
  array->tensor = static_cast<int>(step[1]);
  array->array = made;
  tensor.is_own = step[3] && world.has_array_of(tensor) && tensor.parent < 0 &&
                  world.arrays[tensor.array].said == tensor.stream;
  if (tensor.is_own) made->owner->flags &= ~std::uint32_t{CAI_OWNER_ASKED};
  world.say("array %d: of tensor %u%s", world.number_of(array), step[1],
            tensor.is_own ? ", whose stream is the exporter's" : "");
}

// An exporter that is not libcai is asked for stream 1, and has nothing to do: its work is on a
// blocking stream, which stream 1 comes after anyway. Nobody else has the memory.
void pass_tensor(World &world, const Step &step) {
  Tensor &tensor = world.tensors[step[1]];
  const int number = world.array(step[2]);
  Array *const array = world.free_array(step[3]);
  if (tensor.there || number < 0 || !array || world.is_in_guest) return;
  const Array &from = world.arrays[number];
  const Block &block = world.blocks[from.block];
  const auto others =
      std::count_if(std::begin(world.arrays), std::end(world.arrays),
                    [&](const Array &other) { return other.there && other.block == from.block; });
  const bool is_alone = others == 1 && block.keeper == kPlain && !block.copied &&
                        !block.is_masked && !block.is_abandoned && block.pending == 0 &&
                        block.told == 0 && from.graphs == 0 && block.unstated < 0;
  const bool is_known = from.said >= 0 && is_blocking(from.said) && world.may_say(number, kLegacy);
  if (!is_alone || !is_known || world.any_captures() || world.conflicts(number, true)) return;
  DLManagedTensorVersioned *inner = nullptr;
  MUST(cai_dlpack_write(world.pointer(number), UINT64_MAX, &inner, &world.error));
  auto *const told = new Told{*inner, inner, static_cast<int>(step[1])};
  told->tensor.deleter = Told::end;
  cai_array *made = nullptr;
  MUST(cai_dlpack_own(&told->tensor, 1, &made, &world.error));
  world.say("array %d: of tensor %u of array %d, which is released", world.number_of(array),
            step[1], number);
  tensor = {true, number, from.block, kLegacy, -1, 0, false, nullptr, false};
  *array = Array{};
  array->there = true;
  array->block = from.block;
  array->said = kLegacy;
  array->tensor = static_cast<int>(step[1]);
  array->array = made;
  let_go(world, number);
}

// A party with libcai is lent a tensor, and reads it within one call.
void read_tensor(World &world, const Step &step) {
  const Tensor &tensor = world.tensors[step[1]];
  const int stream = world.stream(step[2]);
  if (!tensor.held || tensor.is_stale || tensor.capture || !world.may_work(stream)) return;
  const bool is_elsewhere =
      is_per_thread(tensor.stream) && tensor.stream != kPerThread + world.thread;
  if (is_elsewhere || world.is_capturing(stream) || world.is_capturing(tensor.stream)) return;
  if (!world.may_work(tensor.stream) || world.conflicts_in(tensor.block, false)) return;
  std::int64_t strides[1];
  cai_array array;
  MUST(cai_dlpack_read(&tensor.held->dl_tensor, machine().value(tensor.stream), strides, &array,
                       &world.error));
  world.say("tensor %u is lent, and read on %s", step[1], kStreamNames[stream]);
  const cai_array *const list = &array;
  cai_use use;
  cai_status status = CAI_OK;
  world.quietly([&] {
    status = cai_use_begin(&use, &list, 1, machine().value(stream), nullptr, &world.error);
  });
  if (!world.is_taken(status)) return;
  world.queue(tensor.block, stream, false);
  world.make_stale(tensor.block, static_cast<int>(step[1]));
  world.quietly([&] { status = cai_use_end(&use, &world.error); });
  if (world.is_taken(status)) return;
  // Nobody else can keep uses of a lent tensor.
  world.say("cai_use_finish");
  MUST(cai_use_finish(&use, 1, &world.error));
}

}  // namespace wide
