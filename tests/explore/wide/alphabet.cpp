// SPDX-License-Identifier: BSD-3-Clause
#include "alphabet.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <span>
#include <sstream>

namespace wide {

using Words = std::span<const char *const>;

enum class Drawn {
  word,     // any
  rare,     // the first one as a rule
  array,    // one that is there
  another,  // the same, or none
  free_array,
  use,  // one that is open
  free_use,
  capture,  // one that is on
  free_capture,
  graph,
  stream,
  outsider,  // a stream that is in no capture
  block,     // one that is free
  tensor,    // one that no array has taken over
  free_tensor
};

struct Operand {
  Drawn drawn = Drawn::word;
  Words words{};
};

namespace {

// The first word of each list is the default.
constexpr const char *kArrayNames[] = {"0", "1", "2", "3", "4", "5", "6", "7"};
constexpr const char *kAnother[] = {"-", "0", "1", "2", "3", "4", "5", "6", "7"};
constexpr const char *kUseNames[] = {"0", "1", "2", "3"};
constexpr const char *kCaptureNames[] = {"0", "1"};
constexpr const char *kBlockNames[] = {"0", "1", "2", "G"};
constexpr const char *kGraphNames[] = {"0", "1", "2", "3", "4", "5", "6", "7"};
// A 2 is that of the thread whose turn it is.
constexpr const char *kStreamWords[] = {"1",  "2",  "B1", "B2", "N1", "N2",
                                        "N3", "N4", "G1", "G2", "L1", "L2"};
constexpr const char *kSays[] = {"stream", "None", "unstated"};
constexpr const char *kMasks[] = {"-", "N1", "N2", "N3", "N4", "None", "B1", "B2"};
constexpr const char *kAccesses[] = {"rrr", "wrr", "rwr", "wwr", "rrw", "wrw", "rww", "www"};
constexpr const char *kAccess[] = {"read", "write"};
constexpr const char *kOrders[] = {"both", "host"};
constexpr const char *kFlags[] = {"-", "external", "fork"};
constexpr const char *kWaits[] = {"event", "host"};
constexpr const char *kAsks[] = {"count", "ask", "wait"};
constexpr const char *kPublished[] = {"stream", "event"};
constexpr const char *kModes[] = {"global", "thread", "relaxed"};
constexpr const char *kNumbers[] = {"1", "2", "3", "4"};
constexpr const char *kLater[] = {"next", "second", "third"};
constexpr const char *kOfDict[] = {"all", "mask"};
constexpr const char *kWorks[] = {"read", "write", "nothing"};
constexpr const char *kHolds[] = {"write", "nothing"};
constexpr const char *kTensorNames[] = {"0", "1", "2", "3"};
constexpr const char *kWhose[] = {"asked", "own"};
constexpr const char *kTimes[] = {"once", "twice", "thrice", "always"};
constexpr const char *kDrains[] = {"ask", "wait"};

constexpr Operand kArray{Drawn::array, kArrayNames}, kOther{Drawn::another, kAnother},
    kFreeArray{Drawn::free_array, kArrayNames}, kUse{Drawn::use, kUseNames},
    kFreeUse{Drawn::free_use, kUseNames}, kCapture{Drawn::capture, kCaptureNames},
    kFreeCapture{Drawn::free_capture, kCaptureNames}, kGraph{Drawn::graph, kGraphNames},
    kStream{Drawn::stream, kStreamWords}, kOutsider{Drawn::outsider, kStreamWords},
    kTensor{Drawn::tensor, kTensorNames}, kFreeTensor{Drawn::free_tensor, kTensorNames};
constexpr Operand of(Words words) {
  return {Drawn::word, words};
}

constexpr Operand rarely(Words words) {
  return {Drawn::rare, words};
}

constexpr std::size_t kOperands = std::tuple_size_v<Step> - 1;

// The likelier, the more often it is drawn: outside of captures, in them, and where the program is
// of one capture, or of imports, alone.
struct Weight {
  unsigned outside, inside, alone;
};

struct Verb {
  const char *name;
  void (*run)(World &, const Step &);
  Weight weight;
  Operand operands[kOperands];
  bool (*is_possible)(const World &) = nullptr;  // null: drawn without a look
};

bool has_tensor(const World &world) {
  return std::any_of(std::begin(world.tensors), std::end(world.tensors),
                     [](const Tensor &tensor) { return tensor.held; });
}

bool has_memory(const World &world) {
  return std::any_of(std::begin(world.blocks), std::end(world.blocks),
                     [](const Block &block) { return block.memory; });
}

constexpr Verb kVerbs[] = {
    {"make",
     make,
     {4, 1, 0},
     {kFreeArray,
      {Drawn::block, kBlockNames},
      kStream,
      of(kKeeperWords),
      rarely(kSays),
      rarely(kMasks)}},
    {"import", import, {2, 1, 1}, {kFreeArray, kArray, rarely(kPartWords)}},
    {"begin",
     begin,
     {10, 12, 12},
     {kFreeUse, kStream, kArray, kOther, kOther, of(kAccesses), rarely(kOrders), rarely(kFlags)}},
    {"end", end, {8, 8, 10}, {kUse, of(kWaits)}},
    {"finish", finish, {5, 3, 4}, {kUse, of(kWaits)}},
    {"abandon", abandon, {2, 2, 3}, {kUse}},
    {"produce", produce, {4, 4, 5}, {kArray, kStream, of(kAccess), kFreeArray}},
    {"publish", publish_on, {2, 1, 3}, {kArray, kStream, kFreeArray}},
    {"publish_event", publish_event, {2, 1, 1}, {kArray, kStream, kFreeArray}},
    {"pass_on",
     pass_on,
     {2, 2, 4},
     {kArray, kStream, kStream, kFreeArray, of(kPublished), kFreeUse}},
    {"view", view, {2, 1, 1}, {kArray, kFreeArray, rarely(kOfDict)}},
    {"release", release, {4, 2, 1}, {kArray}},
    {"release_on", release_on, {2, 2, 5}, {kArray, kStream, kFreeUse}},
    {"same_stream", same_stream, {2, 2, 4}, {kArray, kOther, of(kAccess)}},
    {"sync_host", sync_host, {2, 1, 0}, {kArray}},
    {"drain", drain, {2, 1, 0}, {rarely(kDrains)}},
    {"pending", ask_pending, {4, 1, 0}, {kArray, of(kAsks)}},
    {"capture", begin_capture, {4, 2, 1}, {kFreeCapture, kOutsider, of(kModes)}},
    {"join", join, {0, 5, 1}, {kCapture, kOutsider}},
    {"end_capture", end_capture, {0, 4, 1}, {kCapture}},
    {"launch", launch, {3, 2, 1}, {kGraph, kStream, kFreeUse}},
    {"replace_stream", replace_stream, {2, 1, 0}, {kStream}},
    {"turn", change_thread, {2, 1, 0}, {}},
    {"end_thread", end_thread, {2, 1, 0}, {}},
    {"fail",
     fail,
     {4, 4, 0},
     {of(kFailWords), of(kNumbers), rarely(kLater), rarely(kTimes), rarely(kNumbers)}},
    {"dict",
     begin_without,
     {4, 4, 6},
     {kFreeUse, kArray, kStream, of(kAccess), of(kWaits), rarely(kOfDict)}},
    {"use_dict", use_dict, {3, 4, 4}, {kArray, kStream, of(kAccess)}},
    {"open_guest", open_guest, {2, 1, 0}, {}},
    {"enter_guest",
     enter_guest,
     {2, 1, 0},
     {},
     [](const World &) { return machine().guest != nullptr; }},
    {"end_guest", end_guest, {2, 1, 0}, {}},
    {"tensor", ask_tensor, {3, 2, 2}, {kFreeTensor, kArray, kStream, of(kWorks)}},
    {"use_tensor", use_tensor, {3, 2, 1}, {kTensor, of(kAccess)}, has_tensor},
    {"own_tensor", own_tensor, {4, 2, 1}, {kTensor, kFreeArray, of(kWhose)}, has_tensor},
    {"pass_tensor", pass_tensor, {2, 0, 0}, {kFreeTensor, kArray, kFreeArray}},
    {"read_tensor", read_tensor, {2, 0, 0}, {kTensor, kStream}, has_tensor},
    {"delete_tensor", delete_tensor, {4, 2, 1}, {kTensor}, has_tensor},
    {"set_stream", set_stream, {4, 2, 0}, {kArray, kStream}, has_memory},
    {"array_of_memory", array_of_memory, {4, 2, 0}, {kArray, kFreeArray}, has_memory},
    {"record", record, {4, 1, 0}, {kArray, kStream, kFreeUse}, has_memory},
    {"let_memory_go", let_memory_go, {2, 1, 0}, {kArray}, has_memory},
    {"flush", flush, {1, 1, 0}, {}},
    {"spare_captures", spare_captures, {1, 3, 0}, {kStream}},
    {"hold_memory", hold_memory, {2, 2, 3}, {kFreeUse, kArray, kStream, kStream, of(kHolds)}},
};

// The setting of a program, and its first steps, written as in a program. A `?`, and what is left
// out, is drawn; of words with a `/` between them, one is drawn.
struct Theme {
  unsigned weight;
  bool alone;
  const char *first;
};
constexpr Theme kThemes[] = {
    {35, false, ""},
    // What an owner keeps shows best if no stream covers it.
    {4, true, "make ? ? ? ? stream/None | capture | join | join"},
    {2, true, "make ? ? ? IMPORTED stream/None | import"},
    {2, true, "make ? ? ? IMPORTED stream/None | import | capture | join | join"},
    // An import goes, and what it was used for in a capture stays.
    {1, true,
     "make 0 ? ? IMPORTED stream/None - | import 1 0 | capture | join | join | begin 0 ? 1 - - ? both -"
     " | end 0 event | release 1 | import/begin"},
    {2, true, "make 0 ? ? ? stream - | capture | join | join | use_dict/begin | use_dict/end"},
    {1, true,
     "make 0 ? N1 plain/own stream - | sync_host 0 | capture 0 N2 | join 0 N3 | use_dict 0 N3 ?"
     " | join 0 N1 | same_stream 0 - ?"},
    // A mask is memory of its own, which others have from its exporter, or from its owner.
    {2, true, "make ? ? ? IMPORTED stream/None N1/N2/None/B1 | import ? 0 mask"},
    {1, true, "make ? ? ? IMPORTED stream/None N1/N2/None/B1 | import | capture | join | join"},
    {1, true, "make ? ? ? ? stream/None N1/N2/None/B1 | view 0 1 mask"},
    {1, true,
     "make 0 ? N1 IMPORTED stream N2/None | import 1 0 mask | publish/publish_event/pass_on 0"
     " | begin/same_stream/dict ? 1 | begin/dict/pass_on/release_on"},
    {1, true,
     "make 0 ? N1 IMPORTED stream N2/None | view 0 1 mask | dict 0 0 ? ? event | end 0 event"
     " | publish 0/1 N1 2 | dict 1 2 ? ? event | end 1 event | release 2"},
    {1, true,
     "make 0 ? N1 plain/IMPORTED stream N2/None | view 0 1 mask | publish 0 ? 2 | publish 0/2 N1 3"
     " | begin/dict/same_stream | end 0 event | begin/dict/release"},
    {1, false,
     "make 0 ? N1 IMPORTED stream N2 | make 1 ? N4 plain stream - | release_on 0 N4"
     " | capture 0 N2/N3 | join 0 N2 | sync_host 1 | drain"},
    {1, true,
     "make 0 ? N1/1/2 plain/own/used_on stream None | view 0 1 mask | begin 0 N1/N2 0/1 - - ? both -"
     " | end 0 event | same_stream 0 - write | begin 1 ? 1 - - ? both -"},
    {1, true, "make 0 ? ? ? None B1/B2 | publish 0 1 1 | begin 0 B1/B2/L1/2 1 - - ? both -"},
    {1, false, "make | tensor"},
    {1, false, "make ? ? ? ? ? N1/N2/N3/N4 | dict"},
    {1, false, "make ? ? ? memory | set_stream"},
    {1, true,
     "make 0 ? ? memory None/stream - | set_stream 0 | array_of_memory 0 1"
     " | begin/dict/same_stream/publish/hold_memory | end"},
    {1, false, "open_guest | make ? G"},
    {1, false, "open_guest | make ? ? 1/2 | enter_guest | begin/sync_host/same_stream"},
    {1, false, "open_guest | enter_guest | make | begin/publish/tensor/dict"},
    // Threads, of which one ends.
    {1, false, "turn | make ? ? 2 | begin | end | turn | end_thread | turn"},
    // Two uses in one capture that no stream orders.
    {2, true,
     "make ? ? ? ? stream/None | capture | join | join | begin | end"
     " | begin/dict/tensor/same_stream/publish_event/pass_on/release_on"},
    {1, true,
     "make 0 ? N1 ? stream/None - | capture ? N1 | join ? N2 | begin 0 N2 0 - - ? both -"
     " | end 0 event | publish_event 0 N1/N2 1 | begin 1 N1/N2 1 - - wwr both -"},
    {1, true,
     "make 0 ? N1 ? stream/None N4 | capture ? N1/N4 | join ? N2 | join ? N1/N4"
     " | begin 0 N2 0 - - ? both - | end 0 event | dict 1 0 N1/N2/N4 ? event ?"},
    {1, true,
     "make 0 ? N1 ? stream/None - | import 1 0 | publish 1 | capture ? N1 | join ? N2"
     " | begin/pass_on/tensor | end 0 event | same_stream 0/1 - ?"},
    // A failure after a fork.
    {1, false,
     "make 0 ? N1 ? stream - | make 1 ? ? ? stream | capture ? N1"
     " | fail cuEventRecord/cuStreamWaitEvent/memory ? next | begin ? N2/N3 0 1 - ? both fork"},
    // Other streams that were told are taken into the capture first.
    {1, true,
     "make 0 ? N1 RECLAIMS/plain/own stream - | publish 0 N2 1 | dict 0 1 N2 ? event | end 0 event"
     " | sync_host | capture 0 N1 | begin 0 N2 0 - - ? both fork | end/finish/abandon 0"
     " | begin 1 N2/N3/B1 0 - - ? both fork | end/finish/abandon 1"},
    // A view was released, and the producer has reclaimed: it works on its own stream as before.
    {1, false,
     "make 0 ? N1/B1/1 ? stream - | publish 0 N2/B2 1 | begin 0 ? 1 - - ? both - | end 0 event"
     " | release 1 | produce 0 N1/B1/1 write | produce 0 N1/B1/1"},
    // A blocking stream is taken into a capture, with an array that comes with 1.
    {1, false,
     "make 0 ? N1 ? stream - | make 1 ? 1 ? stream - | sync_host 1 | capture 0 N1"
     " | begin ? B1/B2/L1/2 0 1 - ? both fork | end"},
    // A use is pending when the last reference is released, and another call looks for it.
    {1, false,
     "make ? ? ? ? None - | begin | end | release | make 1 ? ? ? ? -/N2"
     " | tensor/dict/pass_on/publish/publish_event/drain"},
    {1, false,
     "make ? ? ? ? ? - | begin/dict/publish"
     " | fail memory/cuEventRecord/cuStreamGetCaptureInfo/cuStreamGetId/cuStreamGetCtx ? next"
     " always"
     " | abandon/end/release/release_on | release | drain ask/wait"},
    {1, false,
     "open_guest | make 0 G G1 ? ? - | begin 0 G2 0 - - ? both -"
     " | fail cuEventRecord/cuStreamGetId/memory ? next always | abandon/end | end_guest"},
    // And the driver fails in the drain, too, that is to wait for it.
    {1, false,
     "make 0 ? ? ? stream/None - | begin 0 ? 0 - - ? both - | fail cuEventRecord/memory ? next ?"
     " | abandon 0 | fail cuStreamGetCaptureInfo/cuCtxGetCurrent ? next"
     " once | drain wait | produce/dict/begin/release_on"},
    // Owners with functions of their own.
    {1, false,
     "make ? ? ? used_on/own/alone | publish/dict/pass_on/begin/tensor"
     " | end/produce/begin | release_on/publish/dict/sync_host"},
    // Which streams are told.
    {1, false,
     "make ? ? ? ? stream - | tensor ? ? 1/2/N2 | own_tensor/delete_tensor/begin/dict/publish"},
    {1, false,
     "make ? ? ? ? stream/None - | begin ? ? ? - - ? both - | abandon | drain wait"
     " | produce/dict/begin/release_on/tensor"},
    {1, true,
     "make 0 ? ? plain/own/RECLAIMS/IMPORTED stream/None - | tensor 0 0 ? nothing"
     " | tensor 1 0 ? nothing | own_tensor 0 1 | own_tensor 1 2 | begin 0 ? 1/2 | end"
     " | begin/dict/publish/release/delete_tensor | begin 1 ? 1/2"},
    {1, false,
     "make 0 ? B1/B2/2/L1 plain stream - | pass_tensor 0 0 1 | begin/same_stream/release_on | end"},
    {1, true,
     "make 0 ? ? IMPORTED stream/None - | import 1 0 | publish/pass_on 1/0"
     " | same_stream 0/1 - ? | begin ? ? 0/1/2"},
    {1, true,
     "make 0 ? N1/N2 IMPORTED stream - | import 1 0 | publish 0/1 N2/N3 2 | dict 0 2 ? ? event"
     " | end 0 event | same_stream 0/1 - ?"},
    // What a dict says of a mask that a view's stream is not ordered with; and an end that was
    // deferred before.
    {1, false,
     "make 0 ? N1/N2 plain/own/used_on stream N3/N4 | publish 0 N1/N2 1 | dict 0 1 ? write event"
     " | end 0 event | dict 1 0 ? write event mask"},
    {1, true,
     "make 0 ? N1 plain/own/used_on stream N4 | capture 0 N1/N4 | join 0 N2 | join 0 N1/N4"
     " | publish 0 N2 1 | dict 0 1 N1/N2 write event | end 0 event"
     " | dict 1 0 N1/N2/N4 write event mask"},
    {1, false,
     "make 0 ? N1 plain/own/used_on stream N4 | begin 0 N1 0 - - ? both - | end 0 event"
     " | make 1 ? ? ? None - | begin 0 ? 1 - - ? both - | end 0 event | release 1 | dict 1 0"},
    // A view's stream was told, and a tensor is asked for on the array's own, in one capture.
    {1, true,
     "make 0 ? N1 ? stream - | capture 0 N1/N2 | join 0 N1/N2 | publish 0 N2 1"
     " | dict 0 1 ? ? event | end 0 event | tensor/publish_event/same_stream"},
    {1, true,
     "make 0 ? N1 IMPORTED stream - | import 1 0 | capture 0 N1/N2 | join 0 N1/N2 | publish 1 N2 2"
     " | dict 0 2 ? ? event | end 0 event | same_stream 0 - ?"},
    // The last holder goes within a capture; or it is a graph.
    {1, false,
     "make 0 ? ? ? stream/None - | make 1 ? ? ? ? - | begin 0 ? 0 - - ? both - | end 0 event"
     " | capture 0 | release 0 | end_capture 0 | begin 0 ? 1 | end 0 event"},
    {1, false, "make 0 ? N1 ? stream - | capture 0 N1/N2 | release_on 0 N1/N2 | end_capture 0"},
    // Memory is freed in a capture, and once more after it.
    {1, false,
     "make 0 ? N1/B1 memory stream - | begin 0 N1/N2/B1/B2 0 - - ? both - | end 0 event"
     " | capture 0 N1/B1 | let_memory_go 0 | release 0 | end_capture 0 | flush/drain/make"},
    {1, false,
     "make 0 ? N1/B1 memory stream - | begin 0 N1/N2/B1 0 - - ? both - | end 0 event"
     " | set_stream 0 N2/B2 | capture 0 N2/B2 | let_memory_go 0 | release 0 | end_capture 0"
     " | flush/drain/make"},
    {1, false,
     "make 0 ? N1/B1 memory stream - | publish 0 N2/B2 1 | begin/dict 0 | end 0 event"
     " | capture 0 N1/B1 | let_memory_go 0 | release 0 | release 1 | end_capture 0"
     " | flush/drain/make"},
    // Memory without a stream is freed by its last release, while the thread captures elsewhere.
    {1, false,
     "make 0 ? ? memory None - | let_memory_go 0 | capture 0 N1/N2/B1 | release_on/release 0"
     " | end_capture 0"},
    // A foreign array is memory of libcai's for a while, and a capture begins on its stream.
    {1, true,
     "make 0 ? ? ? stream/None - | hold_memory 0 0 | capture 0 | join 0 | end 0 | end_capture/begin"},
    // The same, and the stream of that memory goes while the capture goes on.
    {1, false,
     "make 0 ? N1/N2/B1 plain/RECLAIMS/used_on/own stream - | hold_memory 0 0 N3/N4/B2 ? ?"
     " | capture 0 N1/N2/B1 | finish/end 0 event | replace_stream N3/N4/B2 | end_capture/begin"},
    // A release by stream is not the last one.
    {1, false, "make 0 ? ? ? stream - | view 0 1 | release_on 0 | produce 1 ? write"},
    // Work that no event covers, so that the host must wait; and a reference that is released last.
    {1, false,
     "make 0 ? N1/N2 plain/RECLAIMS/used_on/own stream - | begin 0 N1/N2 0 - - ? both -"
     " | end 0 event | fail cuStreamGetId/cuStreamGetCtx/cuEventRecord 1 next always"
     " | pending/release 0 | pending 0 wait | release 0 | drain wait"},
    {1, false,
     "open_guest | make 0 0/1/2 N1 plain/own stream - | begin 0 G1/G2 0 - - rrr both -"
     " | begin 1 N1 0 - - rrr both - | fail cuEventRecord 1 next always | abandon 0 | end 1 event"
     " | release 0 | end_guest | drain"},
    // Memory of libcai's that is freed after the stream of a view, which a capture has kept from
    // being forgotten; where nothing can be waited for; and where many uses are kept.
    {1, false,
     "make 0 ? N1 memory | publish 0 N2 1 | dict 0 1 ? ? event | end 0 event | capture 0 N2"
     " | release 1 | let_memory_go/end_capture 0 | release/let_memory_go 0"
     " | release/end_capture 0 | flush"},
    {1, false,
     "make 0 ? N1 memory | publish 0 N2 1 | begin 0 N2/N3 1 - - rrr both -"
     " | begin 1 N1 0 - - rrr both - | end 0 event | end 1 event | release 1 | let_memory_go 0"
     " | fail cuEventRecord/cuStreamWaitEvent 1 next | release 0"},
    {1, false,
     "make 0 ? N1 memory | record 0 N2/N3 | begin 0 N1 0 - - ? both - | end 0 event"
     " | let_memory_go 0 | fail cuStreamGetCaptureInfo/cuStreamWaitEvent 1 next | release 0"},
    {2, false,
     "make 0 ? N1 memory | record 0 N2 | record 0 N3 | record 0 N4 | record 0 B1 | record 0 B2"
     " | record 0 L1 | record 0 L2 | record 0 2 | record 0 1 | publish 0 N2/N3 1"
     " | begin/dict/pass_on | end 0 event | release/release_on 1 | release 0"},
};

unsigned find_word(Words words, const std::string &word) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (word == words[i]) return static_cast<unsigned>(i);
  }
  std::fprintf(stderr, "wide: no such word: %s\n", word.c_str());
  std::exit(2);
}

Words verb_names() {
  static const auto names = [] {
    std::array<const char *, std::size(kVerbs)> all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = kVerbs[i].name;
    return all;
  }();
  return names;
}

// One of those that `is` allows; 0 if there is none.
template <class Is>
unsigned any_of(Drawer &drawer, std::size_t count, const Is &is) {
  std::vector<unsigned> all;
  for (unsigned i = 0; i < count; ++i) {
    if (is(i)) all.push_back(i);
  }
  return all.empty() ? 0 : all[drawer.number(static_cast<unsigned>(all.size()))];
}

}  // namespace

template <class All, class WeightOf>
unsigned Drawer::draw_by(const All &all, const WeightOf &weight_of) {
  unsigned sum = 0, chosen = 0;
  for (const auto &each : all) sum += weight_of(each);
  for (unsigned left = number(sum); left >= weight_of(all[chosen]); ++chosen) {
    left -= weight_of(all[chosen]);
  }
  return chosen;
}

unsigned Drawer::array(const World &world) {
  if (!world.arrays[last_].there || number(2)) {
    last_ = any_of(*this, World::kArrays, [&](unsigned i) { return world.arrays[i].there; });
  }
  return last_;
}

// The array's own stream, and those of a capture, are where its programs go on.
unsigned Drawer::stream(const World &world, bool is_outsider) {
  const auto is_captured = [&](unsigned drawn) {
    return std::any_of(std::begin(world.captures), std::end(world.captures),
                       [&](const Capture &capture) { return capture.has(world.stream(drawn)); });
  };
  if (!number(3)) {
    for (unsigned drawn = 0; drawn < kNamed; ++drawn) {
      const bool is_said = world.stream(drawn) == world.arrays[last_].said;
      if (is_said && !(is_outsider && is_captured(drawn))) return drawn;
    }
  }
  if (is_outsider)
    return any_of(*this, kNamed, [&](unsigned drawn) { return !is_captured(drawn); });
  if (world.any_captures() && number(4)) return any_of(*this, kNamed, is_captured);
  return number(kNamed);
}

unsigned Drawer::operand(const World &world, const Operand &of) {
  switch (of.drawn) {
    case Drawn::word:
      return of.words.empty() ? 0 : number(static_cast<unsigned>(of.words.size()));
    case Drawn::rare:
      return number(5) < 3 ? 0 : number(static_cast<unsigned>(of.words.size()));
    case Drawn::array:
      return array(world);
    case Drawn::another:
      return number(3) ? 0 : 1 + number(World::kArrays);
    case Drawn::free_array:
      return world.lowest_free_array();
    case Drawn::use:
      return any_of(*this, std::size(world.uses), [&](unsigned i) { return world.uses[i].open; });
    case Drawn::free_use:
      return any_of(*this, std::size(world.uses), [&](unsigned i) { return !world.uses[i].open; });
    case Drawn::capture:
      return any_of(*this, std::size(world.captures),
                    [&](unsigned i) { return world.captures[i].on; });
    case Drawn::free_capture:
      return any_of(*this, std::size(world.captures),
                    [&](unsigned i) { return !world.captures[i].on; });
    case Drawn::graph:
      return any_of(*this, std::min(world.graphs.size(), std::size(kGraphNames)),
                    [&](unsigned i) { return world.graphs[i].runnable != nullptr; });
    case Drawn::block:
      return any_of(*this, kBlocks, [&](unsigned i) {
        const bool is_there = i != kGuestBlock || machine().guest;
        return is_there && !world.blocks[i].alive && !world.blocks[i].lost;
      });
    case Drawn::tensor:
      return any_of(*this, std::size(world.tensors),
                    [&](unsigned i) { return world.tensors[i].held != nullptr; });
    case Drawn::free_tensor:
      return any_of(*this, std::size(world.tensors),
                    [&](unsigned i) { return !world.tensors[i].there; });
    case Drawn::stream:
    case Drawn::outsider:
      return stream(world, of.drawn == Drawn::outsider);
  }
  return 0;
}

void Drawer::begin() {
  theme_ = draw_by(kThemes, [](const Theme &theme) { return theme.weight; });
  first_.str(kThemes[theme_].first);
  first_.clear();
  last_ = 0;
}

// One of the words that the theme has there.
unsigned Drawer::chosen(Words words, std::string alternatives) {
  std::vector<unsigned> all;
  std::replace(alternatives.begin(), alternatives.end(), '/', ' ');
  std::istringstream each(alternatives);
  for (std::string word; each >> word;) all.push_back(find_word(words, word));
  return all[number(static_cast<unsigned>(all.size()))];
}

Step Drawer::step(const World &world) {
  const Theme &theme = kThemes[theme_];
  std::string first, word;
  std::getline(first_, first, '|');
  std::istringstream words(first);
  Step step{};
  if (words >> word) {
    step[0] = chosen(verb_names(), word);
  } else {
    const bool in_capture = world.any_captures();
    step[0] = draw_by(kVerbs, [&](const Verb &verb) {
      if (verb.is_possible && !verb.is_possible(world)) return 0U;
      if (theme.alone) return verb.weight.alone;
      return in_capture ? verb.weight.inside : verb.weight.outside;
    });
  }
  for (std::size_t i = 0; i < kOperands; ++i) {
    const Operand &of = kVerbs[step[0]].operands[i];
    const bool is_chosen = words >> word && word != "?";
    step[i + 1] = is_chosen ? chosen(of.words, word) : operand(world, of);
  }
  return step;
}

void run_step(World &world, const Step &step) {
  kVerbs[step[0]].run(world, step);
}

std::string text_of(const Program &program) {
  std::string text;
  for (const Step &step : program) {
    const Verb &verb = kVerbs[step[0]];
    if (!text.empty()) text += " | ";
    text += verb.name;
    for (std::size_t i = 0; i < kOperands; ++i) {
      if (!verb.operands[i].words.empty()) {
        text += std::string(" ") + verb.operands[i].words[step[i + 1]];
      }
    }
  }
  return text;
}

Program program_of(const std::string &text) {
  Program program;
  std::istringstream steps(text);
  for (std::string one; std::getline(steps, one, '|');) {
    std::istringstream words(one);
    std::string word;
    words >> word;
    Step step{};
    step[0] = find_word(verb_names(), word);
    for (std::size_t i = 0; words >> word; ++i) {
      step.at(i + 1) = find_word(i < kOperands ? kVerbs[step[0]].operands[i].words : Words{}, word);
    }
    program.push_back(step);
  }
  return program;
}

Step simpler(Step step, std::size_t operand) {
  const Drawn drawn = kVerbs[step[0]].operands[operand].drawn;
  if (drawn == Drawn::word || drawn == Drawn::rare || drawn == Drawn::another)
    step[operand + 1] = 0;
  return step;
}

}  // namespace wide
