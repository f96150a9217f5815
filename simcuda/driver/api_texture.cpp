// SPDX-License-Identifier: BSD-3-Clause
// Texture and surface objects.
#include "array.h"
#include "call.h"
#include "texture.h"

using namespace simcuda;

namespace {

enum class What { texture, surface };

unsigned long long add(Session &s, TextureObject object, const std::shared_ptr<Context> &context) {
  if (object.array) refuse_lost(s.driver, *object.array);
  object.context = context;
  return reinterpret_cast<std::uintptr_t>(
      s.driver.textures.add(std::make_shared<TextureObject>(std::move(object))));
}

// Of the current context.
std::shared_ptr<TextureObject> find(Session &s, unsigned long long handle, What what) {
  const auto context = owner_of(s.current());
  auto object =
      s.driver.textures.get(reinterpret_cast<TextureHandle>(handle), CUDA_ERROR_INVALID_VALUE);
  if (object->context != context || object->texels.is_surface != (what == What::surface))
    throw Refused{CUDA_ERROR_INVALID_VALUE};
  return object;
}

void destroy(Session &s, unsigned long long handle, What what) {
  auto object = find(s, handle, what);
  s.driver.destroyed_textures.add(object);
  s.driver.textures.remove(object->handle);
}

}  // namespace

SIM_API CUresult cuTexObjectCreate(CUtexObject *out, const CUDA_RESOURCE_DESC *resource,
                                   const CUDA_TEXTURE_DESC *texture,
                                   const CUDA_RESOURCE_VIEW_DESC *view) {
  return call(__func__, {out, resource, texture, view}, [&](Session &s) {
    const auto context = owner_of(s.current());
    required(out) =
        add(s, texture_object(s.driver, required(resource), required(texture), view), context);
  });
}

SIM_API CUresult cuTexObjectDestroy(CUtexObject handle) {
  return call(__func__, {handle}, [&](Session &s) { destroy(s, handle, What::texture); });
}

SIM_API CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *out, CUtexObject handle) {
  return call(__func__, {out, handle},
              [&](Session &s) { required(out) = find(s, handle, What::texture)->resource; });
}

SIM_API CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *out, CUtexObject handle) {
  return call(__func__, {out, handle},
              [&](Session &s) { required(out) = find(s, handle, What::texture)->texture; });
}

SIM_API CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *out, CUtexObject handle) {
  return call(__func__, {out, handle}, [&](Session &s) {
    const auto object = find(s, handle, What::texture);
    if (!object->view) throw Refused{CUDA_ERROR_INVALID_VALUE};
    required(out) = *object->view;
  });
}

SIM_API CUresult cuSurfObjectCreate(CUsurfObject *out, const CUDA_RESOURCE_DESC *resource) {
  return call(__func__, {out, resource}, [&](Session &s) {
    const auto context = owner_of(s.current());
    required(out) = add(s, surface_object(s.driver, required(resource)), context);
  });
}

SIM_API CUresult cuSurfObjectDestroy(CUsurfObject handle) {
  return call(__func__, {handle}, [&](Session &s) { destroy(s, handle, What::surface); });
}

SIM_API CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *out, CUsurfObject handle) {
  return call(__func__, {out, handle},
              [&](Session &s) { required(out) = find(s, handle, What::surface)->resource; });
}
