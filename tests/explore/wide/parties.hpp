// SPDX-License-Identifier: BSD-3-Clause
// What parties do: a function for each step, which is left out where the rules forbid it by then.
#pragma once

#include <array>

#include "world.hpp"

namespace wide {

// Which it is, and its operands: alphabet.hpp.
using Step = std::array<unsigned, 9>;

// Producers.
// The memory comes back: an owner has ended.
void freed(World &world, int block);
void make(World &world, const Step &step);
// Another import of an exporter's memory.
void import(World &world, const Step &step);
void produce(World &world, const Step &step);
// The host waits for uses that the array's owner keeps, in the current context.
void await_uses(World &world, int number);
// The producer of a borrowed array, once all uses of it have ended.
void free_borrowed(World &world, int number);
// A provider's answer for an array that states no stream.
std::int32_t provide(void *context, const cai_array *array, std::uint64_t *stream);

// Publishing.
void publish_on(World &world, const Step &step);
void publish_event(World &world, const Step &step);
// After work of the producer's that the array does not say.
void publish_again(World &world, int number, Array *view, int stream);
// A consumer that does not end its use, but publishes.
void pass_on(World &world, const Step &step);

// Holders.
void view(World &world, const Step &step);
void release(World &world, const Step &step);
void let_go(World &world, int number);

// Consumers.
enum class Ending { end, finish, abandon };

void begin(World &world, const Step &step);
void end(World &world, const Step &step);
void finish(World &world, const Step &step);
void abandon(World &world, const Step &step);
void give_up(World &world, Use &use);  // cai_use_abandon()
void end_use(World &world, Use &use, Ending ending, bool waits);
void release_on(World &world, const Step &step);
// Work of this party that could not be reported: a use of it is ended later.
void end_later(World &world, Use *open, int number, int stream, unsigned capture);
void same_stream(World &world, const Step &step);
void sync_host(World &world, const Step &step);
void drain(World &world, const Step &step);
void spare_captures(World &world, const Step &step);
void ask_pending(World &world, const Step &step);

// Consumers without libcai.
// A borrowed array of a block, on a stream; -1: None.
cai_array describe(Address data, int said);
void use_dict(World &world, const Step &step);
void begin_without(World &world, const Step &step);
void end_without(World &world, Use &use, bool waits);

// Whose memory is libcai's.
cai_array *allocate(World &world, int block, int stream);
void set_stream(World &world, const Step &step);
void array_of_memory(World &world, const Step &step);
void record(World &world, const Step &step);
void let_memory_go(World &world, const Step &step);
// A foreign array is used as memory of libcai's.
void hold_memory(World &world, const Step &step);
void end_holding(World &world, Use &use);
// Memory that a capture has prevented from being freed.
void free_refused();
void flush(World &world, const Step &step);

// Who asks for tensors, without libcai or with it.
void ask_tensor(World &world, const Step &step);
void use_tensor(World &world, const Step &step);
void own_tensor(World &world, const Step &step);
void pass_tensor(World &world, const Step &step);
void read_tensor(World &world, const Step &step);
void delete_tensor(World &world, const Step &step);
void let_tensor_go(World &world, Tensor &tensor);

// The party that owns streams.
void begin_capture(World &world, const Step &step);
void join(World &world, const Step &step);
void end_capture(World &world, const Step &step);
void close_capture(World &world, Capture &capture);
void launch(World &world, const Step &step);
void replace_stream(World &world, const Step &step);
void open_guest(World &world, const Step &step);
void enter_guest(World &world, const Step &step);
void end_guest(World &world, const Step &step);
void change_thread(World &world, const Step &step);
void end_thread(World &world, const Step &step);

// The driver, and the memory.
void fail(World &world, const Step &step);

}  // namespace wide
