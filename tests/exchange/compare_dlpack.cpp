// SPDX-License-Identifier: BSD-3-Clause
// The structs and values of cai/dlpack_abi.h are those of DLPack's own header, and its macros are
// the same text (or the compiler would say that they are redefined). It compiles, or it does not.
#include <cstddef>
#include <cstdint>

namespace theirs {
#include <dlpack/dlpack.h>
}
#undef DLPACK_DLPACK_H_
namespace ours {
#include <cai/dlpack_abi.h>
}

#define SAME(type)                                                                                \
  static_assert(                                                                                  \
      sizeof(theirs::type) == sizeof(ours::type) && alignof(theirs::type) == alignof(ours::type), \
      #type)
#define SAME_MEMBER(type, member)                                                 \
  static_assert(offsetof(theirs::type, member) == offsetof(ours::type, member) && \
                    sizeof(theirs::type::member) == sizeof(ours::type::member),   \
                #type "." #member)
#define SAME_VALUE(name) static_assert(int{theirs::name} == int{ours::name}, #name)

SAME(DLPackVersion);
SAME_MEMBER(DLPackVersion, major);
SAME_MEMBER(DLPackVersion, minor);

SAME(DLDevice);
SAME_MEMBER(DLDevice, device_type);
SAME_MEMBER(DLDevice, device_id);

SAME(DLDataType);
SAME_MEMBER(DLDataType, code);
SAME_MEMBER(DLDataType, bits);
SAME_MEMBER(DLDataType, lanes);

SAME(DLTensor);
SAME_MEMBER(DLTensor, data);
SAME_MEMBER(DLTensor, device);
SAME_MEMBER(DLTensor, ndim);
SAME_MEMBER(DLTensor, dtype);
SAME_MEMBER(DLTensor, shape);
SAME_MEMBER(DLTensor, strides);
SAME_MEMBER(DLTensor, byte_offset);

SAME(DLManagedTensor);
SAME_MEMBER(DLManagedTensor, dl_tensor);
SAME_MEMBER(DLManagedTensor, manager_ctx);
SAME_MEMBER(DLManagedTensor, deleter);

SAME(DLManagedTensorVersioned);
SAME_MEMBER(DLManagedTensorVersioned, version);
SAME_MEMBER(DLManagedTensorVersioned, manager_ctx);
SAME_MEMBER(DLManagedTensorVersioned, deleter);
SAME_MEMBER(DLManagedTensorVersioned, flags);
SAME_MEMBER(DLManagedTensorVersioned, dl_tensor);

SAME(DLPackExchangeAPIHeader);
SAME_MEMBER(DLPackExchangeAPIHeader, version);
SAME_MEMBER(DLPackExchangeAPIHeader, prev_api);

SAME(DLPackExchangeAPI);
SAME_MEMBER(DLPackExchangeAPI, header);
SAME_MEMBER(DLPackExchangeAPI, managed_tensor_allocator);
SAME_MEMBER(DLPackExchangeAPI, managed_tensor_from_py_object_no_sync);
SAME_MEMBER(DLPackExchangeAPI, managed_tensor_to_py_object_no_sync);
SAME_MEMBER(DLPackExchangeAPI, dltensor_from_py_object_no_sync);
SAME_MEMBER(DLPackExchangeAPI, current_work_stream);

SAME_VALUE(kDLCPU);
SAME_VALUE(kDLCUDA);
SAME_VALUE(kDLCUDAHost);
SAME_VALUE(kDLOpenCL);
SAME_VALUE(kDLVulkan);
SAME_VALUE(kDLMetal);
SAME_VALUE(kDLVPI);
SAME_VALUE(kDLROCM);
SAME_VALUE(kDLROCMHost);
SAME_VALUE(kDLExtDev);
SAME_VALUE(kDLCUDAManaged);
SAME_VALUE(kDLOneAPI);
SAME_VALUE(kDLWebGPU);
SAME_VALUE(kDLHexagon);
SAME_VALUE(kDLMAIA);
SAME_VALUE(kDLTrn);

SAME_VALUE(kDLInt);
SAME_VALUE(kDLUInt);
SAME_VALUE(kDLFloat);
SAME_VALUE(kDLOpaqueHandle);
SAME_VALUE(kDLBfloat);
SAME_VALUE(kDLComplex);
SAME_VALUE(kDLBool);
SAME_VALUE(kDLFloat8_e3m4);
SAME_VALUE(kDLFloat8_e4m3);
SAME_VALUE(kDLFloat8_e4m3b11fnuz);
SAME_VALUE(kDLFloat8_e4m3fn);
SAME_VALUE(kDLFloat8_e4m3fnuz);
SAME_VALUE(kDLFloat8_e5m2);
SAME_VALUE(kDLFloat8_e5m2fnuz);
SAME_VALUE(kDLFloat8_e8m0fnu);
SAME_VALUE(kDLFloat6_e2m3fn);
SAME_VALUE(kDLFloat6_e3m2fn);
SAME_VALUE(kDLFloat4_e2m1fn);

// The table's functions take the same number of arguments, of the same sizes.
template <class>
constexpr std::size_t arguments = 0;
template <class Result, class... Arguments>
constexpr std::size_t arguments<Result (*)(Arguments...)> = (sizeof(Arguments) + ... + 0);

#define SAME_FUNCTION(type) static_assert(arguments<theirs::type> == arguments<ours::type>, #type)
SAME_FUNCTION(DLPackManagedTensorAllocator);
SAME_FUNCTION(DLPackManagedTensorFromPyObjectNoSync);
SAME_FUNCTION(DLPackDLTensorFromPyObjectNoSync);
SAME_FUNCTION(DLPackCurrentWorkStream);
SAME_FUNCTION(DLPackManagedTensorToPyObjectNoSync);

int main() {}
