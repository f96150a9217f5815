// SPDX-License-Identifier: BSD-3-Clause
// User objects: objects of the client that live as long as graphs need them.

#include <climits>

#include "call.h"
#include "graph.h"

using namespace simcuda;

namespace {

std::shared_ptr<UserObject> object_of(Session &s, CUuserObject handle) {
  return s.driver.user_objects.get(handle, CUDA_ERROR_INVALID_VALUE);
}

void check_count(unsigned count) {
  if (count == 0 || count > INT_MAX) throw Refused{CUDA_ERROR_INVALID_VALUE};
}

// All callers own the references together, so it is unknown whose one is. A driver does not check
// how many there are. simcuda reports that a caller releases more than there are.
void take_from_callers(UserObject &object, unsigned count) {
  if (object.of_callers < count) throw Refused{CUDA_ERROR_INVALID_VALUE};
  object.of_callers -= count;
}

}  // namespace

SIM_API CUresult cuUserObjectCreate(CUuserObject *out, void *data, CUhostFn destroy, unsigned count,
                                    unsigned flags) {
  return call(__func__, {out, data, reinterpret_cast<void *>(destroy), count, flags},
              [&](Session &s) {
                required(out);
                if (!destroy || !count || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
                  throw Refused{CUDA_ERROR_INVALID_VALUE};
                auto object = std::make_shared<UserObject>();
                object->destroy = destroy;
                object->data = data;
                object->of_callers = count;
                *out = s.driver.user_objects.add(object);
              });
}

SIM_API CUresult cuUserObjectRetain(CUuserObject handle, unsigned count) {
  return call(__func__, {handle, count}, [&](Session &s) {
    check_count(count);
    object_of(s, handle)->of_callers += count;
  });
}

SIM_API CUresult cuUserObjectRelease(CUuserObject handle, unsigned count) {
  return call(__func__, {handle, count}, [&](Session &s) {
    check_count(count);
    auto object = object_of(s, handle);
    take_from_callers(*object, count);
    end_if_unused(s.driver, *object, s.thread);
  });
}

SIM_API CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject handle, unsigned count,
                                         unsigned flags) {
  return call(__func__, {graph, handle, count, flags}, [&](Session &s) {
    check_count(count);
    if (flags & ~CU_GRAPH_USER_OBJECT_MOVE) throw Refused{CUDA_ERROR_INVALID_VALUE};
    auto owner = s.driver.graphs.get(graph, CUDA_ERROR_INVALID_VALUE);
    auto object = object_of(s, handle);
    if (flags & CU_GRAPH_USER_OBJECT_MOVE) take_from_callers(*object, count);
    owner->user_objects->add(object, count);
  });
}

SIM_API CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject handle, unsigned count) {
  return call(__func__, {graph, handle, count}, [&](Session &s) {
    check_count(count);
    auto owner = s.driver.graphs.get(graph, CUDA_ERROR_INVALID_VALUE);
    // A driver accepts this, too, and the object may be destroyed too early.
    if (!owner->user_objects->remove(object_of(s, handle), count, s.thread))
      throw Refused{CUDA_ERROR_INVALID_VALUE};
  });
}
