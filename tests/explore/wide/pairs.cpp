// SPDX-License-Identifier: BSD-3-Clause
#include "pairs.hpp"

#include <cstddef>
#include <cstdio>

namespace wide {
namespace {

constexpr int kCalls = static_cast<int>(Call::count), kKinds = static_cast<int>(Kind::count);
constexpr const char *kCallNames[kCalls] = {"begin",      "end",         "finish",        "abandon",
                                            "reclaim",    "publish",     "publish_event", "release",
                                            "release_on", "same_stream", "sync_host",     "dict",
                                            "pending",    "tensor",      "record"};
constexpr const char *kKindNames[kKinds] = {"1",        "2",     "other's 2", "blocking", "non-bl.",
                                            "captured", "guest", "none",      "event"};

long calls[kCalls][kCalls], said_on[kKinds][kKinds], on_on[kKinds][kKinds];

template <int count>
void print(const char *title, const char *const (&names)[count], const long (&met)[count][count]) {
  std::printf("# %s\n# %13s", title, "");
  for (const char *name : names) std::printf(" %9.9s", name);
  std::printf("\n");
  for (int i = 0; i < count; ++i) {
    std::printf("# %-13s", names[i]);
    for (int j = 0; j < count; ++j) std::printf(" %9ld", met[i][j]);
    std::printf("\n");
  }
}

// Pairs that need not occur together: `count` is for any.
template <class What>
struct Never {
  What first, then;
  const char *why;
};

constexpr Never<Call> kNeverCalls[] = {
    {Call::begin, Call::release_on, "that is a use, and uses that conflict do not overlap"},
    {Call::begin, Call::same_stream, "likewise"},
    {Call::release_on, Call::end, "likewise"},
    {Call::release_on, Call::finish, "likewise"},
    {Call::release_on, Call::abandon, "likewise"},
    {Call::same_stream, Call::end, "likewise"},
    {Call::same_stream, Call::finish, "likewise"},
    {Call::same_stream, Call::abandon, "likewise"},
    {Call::begin, Call::tensor, "likewise"},
    {Call::begin, Call::record, "likewise"},
    {Call::tensor, Call::end, "likewise"},
    {Call::tensor, Call::finish, "likewise"},
    {Call::tensor, Call::abandon, "likewise"},
    {Call::record, Call::end, "likewise"},
    {Call::record, Call::finish, "likewise"},
    {Call::record, Call::abandon, "likewise"},
    {Call::reclaim, Call::record, "what libcai's memory is reclaimed for is published again"},
    {Call::reclaim, Call::finish, "rare: of a reader, where the producer reads on its own stream"},
};
constexpr Never<Kind> kNeverSaidOn[] = {
    {Kind::count, Kind::twos, "nobody names another thread's 2"},
    {Kind::twos, Kind::count, "it is refused, but for what gives a use up"},
    {Kind::count, Kind::event, "no work is on an event"},
    {Kind::count, Kind::none, "the call is for a stream"},
    {Kind::captured, Kind::one, "stream 1 joins no capture"},
    {Kind::captured, Kind::guest, "rare: no second context is made or ends during a capture"},
};
constexpr Never<Kind> kNeverOnOn[] = {
    {Kind::count, Kind::twos, "nobody names another thread's 2, but who gives a use up"},
    {Kind::twos, Kind::count, "likewise"},
    {Kind::count, Kind::event, "no work is on an event"},
    {Kind::event, Kind::count, "likewise"},
    {Kind::count, Kind::none, "calls for no stream are left out"},
    {Kind::none, Kind::count, "likewise"},
    {Kind::captured, Kind::guest, "rare: no second context is made or ends during a capture"},
    {Kind::guest, Kind::captured, "likewise"},
};

template <class What, std::size_t count>
bool is_never(const Never<What> (&never)[count], int first, int then) {
  const auto is = [](What it, int met) { return it == What::count || static_cast<int>(it) == met; };
  for (const Never<What> &it : never) {
    if (is(it.first, first) && is(it.then, then)) return true;
  }
  return false;
}

template <int count, class Is>
bool tell(int number, const char *title, const char *const (&names)[count],
          const long (&met)[count][count], const Is &is_left_out) {
  print(title, names, met);
  int missing = 0;
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < count; ++j) {
      if (met[i][j] != 0 || is_left_out(i, j)) continue;
      std::printf("# never met: %s, then %s\n", names[i], names[j]);
      ++missing;
    }
  }
  std::printf("%s %d - %s\n", missing ? "not ok" : "ok", number, title);
  return missing == 0;
}

}  // namespace

void note_pair(Last &last, Call call, Kind said, Kind on) {
  const int now = static_cast<int>(call), stream = static_cast<int>(on);
  if (last.call != Call::count) ++calls[static_cast<int>(last.call)][now];
  last.call = call;
  if (on == Kind::none) return;
  ++said_on[static_cast<int>(said)][stream];
  if (last.on != Kind::count) ++on_on[static_cast<int>(last.on)][stream];
  last.on = on;
}

bool tell_pairs() {
  bool good = tell(1, "a call, and the next one for the same memory", kCallNames, calls,
                   [](int i, int j) { return is_never(kNeverCalls, i, j); });
  good &= tell(2, "what the array came with, and the stream of a call", kKindNames, said_on,
               [](int i, int j) { return is_never(kNeverSaidOn, i, j); });
  good &= tell(3, "the streams of two calls for the same memory", kKindNames, on_on,
               [](int i, int j) { return is_never(kNeverOnOn, i, j); });
  std::printf("1..3\n");
  return good;
}

}  // namespace wide
