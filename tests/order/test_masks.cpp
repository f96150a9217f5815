// SPDX-License-Identifier: BSD-3-Clause
// A masked array is two memories: the mask has a stream of its own, or None, and others may have it
// without the elements.
#include "capturing.hpp"
#include "owned.hpp"

namespace test::masks_tests {
namespace {

constexpr std::uint64_t none = 0;

class Masks : public Capturing {
 protected:
  // An array, and its mask: the streams that they say.
  struct Pair {
    Array elements, mask;

    Pair(Address data, std::uint64_t said, Address mask_data, std::uint64_t of_mask)
        : elements(data, kind_of(said), said), mask(mask_data, kind_of(of_mask), of_mask) {
      elements.mask(mask);
    }
    static std::uint32_t kind_of(std::uint64_t said) {
      return said == none ? CAI_STREAM_NONE : CAI_STREAM_STREAM;
    }
  };

  struct Import : Owned {
    explicit Import(const Array &array, std::function<void()> then = nullptr)
        : Owned(array.array, std::move(then)) {
      get()->owner->flags |= CAI_OWNER_IMPORTED;
    }
  };

  Pair pair_of(std::uint64_t said, std::uint64_t of_mask) {
    return {memory(), said, memory(), of_mask};
  }

  void use(const cai_array *array, std::uint64_t on, Address data, bool writes = true) {
    const cai_use_options options = access(writes ? CAI_ACCESS_WRITE : CAI_ACCESS_READ);
    EXPECT_EQ(begin_use({array}, on, nullptr, &options), CAI_OK);
    writes ? fill(data, 1, on) : copy(seen, data, on);
    EXPECT_EQ(end_use({array}, on, nullptr, &options), CAI_OK);
  }

  const Address seen = memory();

  // The stream that a dict says.
  static std::uint64_t told_by(const cai_array *array) {
    std::uint64_t storage[96];
    cai_interface said{};
    said.struct_size = sizeof said;
    EXPECT_EQ(cai_interface_write(array, 3, storage, sizeof storage, &said, nullptr), CAI_OK);
    return said.stream.integer;
  }

  static cai_status same_stream(const cai_array *array, std::uint64_t *out,
                                cai_error *error = nullptr) {
    return cai_arrays_same_stream(&array, 1, out, error);
  }
};

// Work on a masked import, of the elements or of the mask. Other consumers, which have one or the
// other from its exporter, learn of it.
TEST_F(Masks, OfImportsAreFoundByWhoHasThemAlone) {
  enum Way { by_publish, by_event, by_release, by_use, ways };
  for (int way = 0; way < ways; ++way) {
    for (const std::uint64_t said : {none, value(stream())}) {
      for (const bool is_of_mask : {false, true}) {
        SCOPED_TRACE(testing::Message() << way << ", " << said << ", " << is_of_mask);
        Pair pair = pair_of(said, none);
        const cai_array &it = is_of_mask ? pair.mask.array : pair.elements.array;
        const Array part(it.data, it.stream_kind, it.stream);
        const std::uint64_t worker = value(stream()), other = value(stream());
        EXPECT_EQ(races([&] {
                    Import whole(pair.elements);
                    const Import alone(part);
                    if (way == by_use) {
                      use(whole, worker, part.array.data);
                      return use(alone, other, part.array.data);
                    }
                    MUST(cai_array_reclaim(whole, worker, CAI_ACCESS_WRITE, nullptr));
                    fill(part.array.data, 1, worker);
                    if (way == by_release) {
                      MUST(cai_array_release_on(whole, worker, nullptr));
                      whole.gone();
                      return use(alone, other, part.array.data);
                    }
                    const Published view = way == by_publish
                                               ? Published(whole, value(stream()), {worker})
                                               : Published::event(whole, worker);
                    use(alone, other, part.array.data);
                  }),
                  0U);
      }
    }
  }
}

// The same in a capture, where edges of the graph order them.
TEST_F(Masks, OfImportsAreFoundInACapture) {
  for (const bool alone_first : {false, true}) {
    SCOPED_TRACE(alone_first);
    Pair pair = pair_of(none, none);
    const Address mask = pair.mask.array.data;
    const std::uint64_t worker = value(stream()), other = value(stream());
    EXPECT_EQ(races([&] {
                const Import whole(pair.elements), alone(pair.mask);
                begin_capture(worker, relaxed);
                fork(worker, other);
                use(alone_first ? alone : whole, worker, mask, !alone_first);
                use(alone_first ? whole : alone, other, mask, alone_first);
                fork(other, worker);
                launch(worker);
              }),
              0U);
  }
}

// Who writes elements may mark them as valid: the mask is used as its array is.
TEST_F(Masks, AreWrittenByWhoWritesTheArray) {
  for (const std::uint64_t said : {none, value(stream())}) {
    for (const bool write_first : {false, true}) {
      SCOPED_TRACE(testing::Message() << said << ", " << write_first);
      Pair pair = pair_of(said, none);
      const std::uint64_t reader = value(stream()), writer = value(stream());
      EXPECT_EQ(races([&] {
                  const Import whole(pair.elements), alone(pair.mask);
                  if (write_first) use(whole, writer, pair.mask.array.data);
                  use(alone, reader, pair.mask.array.data, false);
                  if (!write_first) use(whole, writer, pair.mask.array.data);
                }),
                0U);
    }
  }
}

// If that is impossible, since the mask is read-only, or the array is read, readers do not wait.
TEST_F(Masks, AreReadByWhoReadsTheArrayAndWhereTheyAreReadOnly) {
  for (const bool readonly : {false, true}) {
    SCOPED_TRACE(readonly);
    Pair pair = pair_of(none, none);
    if (readonly) pair.mask.array.flags |= CAI_FLAG_READONLY;
    const Import whole(pair.elements), alone(pair.mask);
    use(alone, value(stream()), pair.mask.array.data, false);
    const cai_use_options options = access(readonly ? CAI_ACCESS_WRITE : CAI_ACCESS_READ);
    const std::uint64_t user = value(stream());
    gpu().simcuda_reset_counts();
    EXPECT_EQ(begin_use({whole}, user, nullptr, &options), CAI_OK);
    EXPECT_EQ(calls("cuStreamWaitEvent"), 0U);
    EXPECT_EQ(end_use({whole}, user, nullptr, &options), CAI_OK);
  }
}

// No end will tell an exporter that knows of no stream, for example with two arrays.
TEST_F(Masks, OfAnImportThatSayNoneHaveNoSameStream) {
  const std::uint64_t said = value(stream());
  Pair pair = pair_of(said, none);
  const Import whole(pair.elements);
  std::uint64_t out = 7;
  cai_error error{};
  EXPECT_EQ(same_stream(whole, &out, &error), CAI_ERR_ORDER);
  EXPECT_NE(std::string(error.message).find("its mask came with None"), std::string::npos);
  EXPECT_EQ(out, 7U);
  Pair both = pair_of(said, said);
  const Import ordered(both.elements);
  EXPECT_EQ(same_stream(ordered, &out), CAI_OK);
  EXPECT_EQ(out, said);
}

// An owner that keeps uses is told, for consumers of the mask alone.
TEST_F(Masks, ThatSayNoneAreToldOfTheSameStream) {
  for (const bool is_kept : {false, true}) {
    SCOPED_TRACE(is_kept);
    const std::uint64_t said = value(stream()), other = value(stream());
    Pair pair = pair_of(said, none);
    EXPECT_EQ(races([&] {
                const Owned whole(pair.elements.array);
                if (is_kept) use(whole, other, pair.mask.array.data);
                std::uint64_t out = 0;
                EXPECT_EQ(same_stream(whole, &out), CAI_OK);
                EXPECT_EQ(out, said);
                fill(pair.mask.array.data, 1, out);
                use(whole->mask, other, pair.mask.array.data);
              }),
              0U);
  }
}

// The array's exporter frees in the order of the stream that a dict named, but the mask's does not,
// as it said None.
TEST_F(Masks, ThatSayNoneOutliveWhatDictsHaveTold) {
  enum View { of_mask, of_both, once_more, views };
  for (int of = 0; of < views; ++of) {
    for (const std::uint64_t said : {std::uint64_t{1}, value(stream())}) {
      SCOPED_TRACE(testing::Message() << of << ", " << said);
      Pair pair = pair_of(said, none);
      const Address mask = pair.mask.array.data;
      const std::uint64_t freeing = value(stream());
      EXPECT_EQ(races([&] {
                  Import whole(pair.elements, [&] { fill(mask, 0, freeing); });
                  EXPECT_EQ(told_by(whole), said);
                  {
                    const cai_array *const it = whole;
                    if (of == once_more) Published(it, value(stream()));
                    const Published view(of == of_mask ? whole->mask : it, said);
                    EXPECT_EQ(told_by(view), said);
                    fill(mask, 1, said);
                  }
                  whole.release();
                }),
                0U);
    }
  }
}

// Other consumers have the mask from its exporter, and continue on the stream that it named.
TEST_F(Masks, OfImportsComeAfterTheStreamThatTheyHaveSaid) {
  for (const bool as_event : {false, true}) {
    SCOPED_TRACE(as_event);
    const std::uint64_t of_mask = value(stream()), target = value(stream());
    Pair pair = pair_of(value(stream()), of_mask);
    const Address mask = pair.mask.array.data;
    EXPECT_EQ(races([&] {
                const Import whole(pair.elements), alone(pair.mask);
                const Published view =
                    as_event ? Published::event(whole, target) : Published(whole, target);
                use(alone, of_mask, mask);
                use(view, value(stream()), mask);
              }),
              0U);
  }
}

// Two imports of the same elements, each with a mask of its own, end within a capture: who has one
// of the masks from its exporter comes after the use of that one.
TEST_F(Masks, OfImportsThatEndInACaptureAreUsedAfterIt) {
  const std::uint64_t said = value(stream()), own = value(stream());
  const Address data = memory(), masks[] = {memory(), memory()};
  EXPECT_EQ(races([&] {
              begin_capture(own, relaxed);
              std::vector<std::uint64_t> users, readers;
              for (std::size_t i = 0; i < 2; ++i) {
                users.push_back(value(stream()));
                readers.push_back(value(stream()));
                fork(own, users[i]);
                fork(own, readers[i]);
              }
              for (std::size_t i = 0; i < 2; ++i) {
                Pair pair(data, said, masks[i], said);
                Import whole(pair.elements);
                use(whole, users[i], masks[i]);
                whole.release();
                EXPECT_TRUE(whole.ended());
              }
              for (std::size_t i = 0; i < 2; ++i) {
                const Import alone(Array(masks[i], CAI_STREAM_NONE));
                use(alone, readers[i], masks[i]);
                fork(readers[i], own);
                fork(users[i], own);
              }
              launch(own);
            }),
            0U);
}

// Stream 1 orders the mask's own blocking stream no better than the array's.
TEST_F(Masks, ArePublishedOnStream1) {
  const std::uint64_t of_mask = value(stream(blocking)), user = value(stream(blocking));
  Pair pair = pair_of(none, of_mask);
  const Address mask = pair.mask.array.data;
  EXPECT_EQ(races([&] {
              const Owned whole(pair.elements.array);
              fill(mask, 1, of_mask);
              const Published view(whole, 1);
              use(view, user, mask);
            }),
            0U);
}

// A view comes back to the array's stream, which is not the mask's: a consumer of the mask does not
// know what is in order with the array's.
TEST_F(Masks, OfAViewThatComesBackHaveAnotherStreamStill) {
  const std::uint64_t said = value(stream()), other = value(stream());
  Pair pair = pair_of(said, value(stream()));
  const Address mask = pair.mask.array.data;
  EXPECT_EQ(races([&] {
              const Owned whole(pair.elements.array);
              {
                const Published away(whole, value(stream()));
              }
              const Published back(whole, said);
              use(back, said, mask);
              use(whole->mask, other, mask);
            }),
            0U);
}

// A mask need not name its array's owner, which still keeps its uses.
TEST_F(Masks, OfNoOwnerAreKeptByTheArrays) {
  const std::uint64_t user = value(stream()), of_mask = value(stream());
  Pair pair = pair_of(value(stream()), of_mask);
  const Address mask = pair.mask.array.data;
  EXPECT_EQ(races([&] {
              Producer producer(CAI_OWNER_RECLAIMS);
              pair.elements.array.owner = producer.owner();
              use(&pair.elements.array, user, mask);
              EXPECT_EQ(told_by(&pair.elements.array), pair.elements.array.stream);
              fill(mask, 1, of_mask);
              use(&pair.elements.array, user, mask);
              producer.release();
            }),
            0U);
}

// An exporter frees the mask on the stream that this said, and so not while that is being captured.
TEST_F(Masks, OfImportsEndOutsideOfTheirCapture) {
  const std::uint64_t of_mask = value(stream()), user = value(stream()), other = value(stream());
  Pair pair = pair_of(value(stream()), of_mask);
  bool was_captured = false;
  Import whole(pair.elements, [&] { was_captured = capturing(of_mask); });
  Gate gate(user);
  MUST(cai_array_release_on(whole, user, nullptr));
  whole.gone();
  begin_capture(other, relaxed);
  fork(other, of_mask);
  gate.open();
  MUST(gpu().cuStreamSynchronize(handle(user)));
  static_cast<void>(left_after_drain());
  EXPECT_FALSE(whole.ended());
  fork(of_mask, other);
  end_capture(other);
  static_cast<void>(left_after_drain());
  EXPECT_TRUE(whole.ended());
  EXPECT_FALSE(was_captured);
}

}  // namespace
}  // namespace test::masks_tests
