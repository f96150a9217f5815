// SPDX-License-Identifier: BSD-3-Clause
// Texture and surface objects: numbers by which kernels find texels.
#pragma once

#include "objects.h"
#include "texels.h"

namespace simcuda {

struct Driver;

using TextureHandle = struct TextureHandle_st *;  // the driver's, a number for the client

struct TextureObject {
  TextureHandle handle = nullptr;
  std::shared_ptr<Context> context;
  CUDA_RESOURCE_DESC resource{};
  CUDA_TEXTURE_DESC texture{};
  std::optional<CUDA_RESOURCE_VIEW_DESC> view;
  AllocationPtr array;  // null: it is an address that says where the texels are
  kernel::Texels texels;
};

using TextureObjectPtr = std::shared_ptr<const TextureObject>;

// What was destroyed, from some moment on: for a launch that was submitted then it is still there.
class DestroyedTextures {
 public:
  struct Link {
    TextureObjectPtr object;  // null: nothing yet
    std::shared_ptr<Link> next;
    ~Link();
  };
  using Since = std::shared_ptr<const Link>;

  Since now() const { return last_; }
  void add(TextureObjectPtr object);
  // Whether one of the last of all had this handle.
  bool had(TextureHandle handle) const;

 private:
  std::shared_ptr<Link> last_ = std::make_shared<Link>();
  std::deque<TextureHandle> handles_;
};

// What a kernel sees by a handle. Refuses what is wrong with the descriptors.
TextureObject texture_object(Driver &driver, const CUDA_RESOURCE_DESC &resource,
                             const CUDA_TEXTURE_DESC &texture, const CUDA_RESOURCE_VIEW_DESC *view);
TextureObject surface_object(Driver &driver, const CUDA_RESOURCE_DESC &resource);
void remove_textures_of(Driver &driver, const Context &context);

}  // namespace simcuda
