// SPDX-License-Identifier: BSD-3-Clause
#include "order/published.hpp"

#include <memory>

#include "order/above.hpp"
#include "order/producers.hpp"
#include "order/trace.hpp"

namespace cai::order {
namespace {

// The view's stream may be destroyed after this. Work queued there by consumers without an owner is
// kept as a use.
void forget_stream(const Published &published) noexcept {
  const trace::Call call("cai_array_release", trace::owner(published.root));
  // Memory that was freed while it had views keeps no uses any more.
  Uses *const kept = published.differs ? uses_of(keeper_of(published.root)) : nullptr;
  if (kept) kept->agree();
  if (!published.told.load(std::memory_order_acquire)) return;
  // Then the stream was destroyed, too, and there is nothing pending.
  const cai_owner &keeper = *keeper_of(published.root);
  if (is_freed(keeper) && ask(above.has_lost_context, keeper)) return;
  static_cast<void>(guard(nullptr, [&] {
    driver::Session session;
    Uses &uses = make_uses_of(keeper_of(published.root));
    uses.untell(session, published.stream, published.thread);
    session.finish();
  }));
}

// The only stream that the array and its mask come with; 0: there is none.
std::uint64_t one_stream_of(const cai_array &array) {
  const std::uint64_t said = stream_value(array);
  const cai_array *const mask = array.mask;
  return !mask || !may_be_pending(*mask) || stream_value(*mask) == said ? said : 0;
}

void end_published(void *context) {
  const std::unique_ptr<Published> published(static_cast<Published *>(context));
  if (!published->root) return;
  forget_stream(*published);
  published->root->release(published->root);
}

}  // namespace

cai_array *new_published(const cai_array &array, Published **published) {
  auto made = std::make_unique<Published>();
  cai_array *view = nullptr;
  if (array.owner) {
    // A view that was published itself need not outlive this one.
    const auto *const other = static_cast<Published *>(context_of(array.owner, end_published));
    made->root = other && other->root ? other->root : root_of(array.owner);
    made->said = other && other->root ? other->said : one_stream_of(array);
    const Hold hold{end_published, made.get()};
    const Dims mask = array.mask ? dims_of(*array.mask) : Dims{};
    view = new_view(array, dims_of(array), mask, array.flags & CAI_FLAG_STRIDES_NONE, &hold);
    if (!view) throw std::bad_alloc();
    made->root->retain(made->root);
    if (stores_here(keeper_of(made->root))) view->owner->uses = made.get();
  } else {
    cai_error error;
    const cai_status status = own_valid(array, end_published, made.get(), &view, &error);
    if (status != CAI_OK) throw Failure(error);
  }
  *published = made.release();
  return view;
}

}  // namespace cai::order
