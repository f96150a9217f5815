/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file arrow.h
 * Arrays from Arrow's columns on a device, and the other way round.
 *
 * These are the Arrow C Data Interface and the Arrow C Device Data Interface, for one axis of
 * numbers: integers of 8 to 64 bits and float of 16 to 64. The memory is never copied. Everything
 * else fails, and the error names the format or the member. The structs are declared here unless
 * another header has done so, under the standard's own macros.
 *
 * A validity bitmap is a mask of bits (cai_dtype kind 't'): both count from the lowest bit of the
 * first byte, and a 1 is a valid element. Bits cannot begin within a byte. Masks of bytes cannot be
 * exported.
 *
 * A `sync_event` points to a CUevent: the array comes with that event (#CAI_STREAM_EVENT); NULL is
 * the same as #CAI_STREAM_NONE. Arrow's data must not be written, so arrays of it are read-only.
 */
/* clang-format off: the comments beside the fields are set by hand */
#ifndef CAI_ARROW_H
#define CAI_ARROW_H

#include <cai.h>

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

/** Arrow's: the type of a column. */
struct ArrowSchema {
  const char *format;   /**< "i" is int32, "g" is float64, ... */
  const char *name;     /**< or NULL */
  const char *metadata; /**< or NULL */
  int64_t flags;        /**< ARROW_FLAG_* */
  int64_t n_children;
  struct ArrowSchema **children;
  struct ArrowSchema *dictionary;
  void (*release)(struct ArrowSchema *self); /**< sets itself NULL; NULL: released, or moved */
  void *private_data;
};

/** Arrow's: a column. */
struct ArrowArray {
  int64_t length;     /**< elements */
  int64_t null_count; /**< elements that are not valid; -1: not known */
  int64_t offset;     /**< elements of the buffers that come before the first */
  int64_t n_buffers;  /**< 2 for numbers: validity bitmap or NULL, and values */
  int64_t n_children;
  const void **buffers; /**< the list is the host's, the buffers are the device's */
  struct ArrowArray **children;
  struct ArrowArray *dictionary;
  void (*release)(struct ArrowArray *self); /**< sets itself NULL; NULL: released, or moved */
  void *private_data;
};

#endif /* ARROW_C_DATA_INTERFACE */

#ifndef ARROW_C_DEVICE_DATA_INTERFACE
#define ARROW_C_DEVICE_DATA_INTERFACE

/** Arrow's: the numbers of cai_array.device_type. */
typedef int32_t ArrowDeviceType;

#define ARROW_DEVICE_CPU 1
#define ARROW_DEVICE_CUDA 2
#define ARROW_DEVICE_CUDA_HOST 3
#define ARROW_DEVICE_OPENCL 4
#define ARROW_DEVICE_VULKAN 7
#define ARROW_DEVICE_METAL 8
#define ARROW_DEVICE_VPI 9
#define ARROW_DEVICE_ROCM 10
#define ARROW_DEVICE_ROCM_HOST 11
#define ARROW_DEVICE_EXT_DEV 12
#define ARROW_DEVICE_CUDA_MANAGED 13
#define ARROW_DEVICE_ONEAPI 14
#define ARROW_DEVICE_WEBGPU 15
#define ARROW_DEVICE_HEXAGON 16

/** Arrow's: a column on a device. */
struct ArrowDeviceArray {
  struct ArrowArray array;
  int64_t device_id; /**< ordinal; -1 where there is none, as for the CPU */
  ArrowDeviceType device_type;
  void *sync_event;    /**< points to a CUevent to wait for; or NULL */
  int64_t reserved[3]; /**< 0, as Arrow asks of producers; not read here */
};

#endif /* ARROW_C_DEVICE_DATA_INTERFACE */

/* arrow.h: declarations begin */

/** Makes an owned array of a column, and moves the column into it. The column's release is called
 * once, on any thread, when the last reference is released and all kept uses are complete. For a
 * column of the plain C Data Interface, fill in a struct ArrowDeviceArray: device type CPU, id -1.
 *
 * @param schema  the type: a format of c C s S i I l L e f g. Not changed; still the caller's
 * @param column  on success its array.release is NULL, Arrow's mark of a moved column; on failure
 *                it is unchanged, and the caller's
 * @param out     the owned array, read-only as columns are; the caller owns one reference. A bitmap
 *                becomes its mask, unless null_count is 0
 * @return #CAI_OK; #CAI_ERR_UNSUPPORTED for another format, children, a dictionary, and a bitmap
 *         that begins within a byte (offset no multiple of 8; entry mask); #CAI_ERR_DEVICE for a
 *         device that is neither CPU nor CUDA; #CAI_ERR_VALUE, with the entry; #CAI_ERR_MEMORY;
 *         #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_arrow_own(const struct ArrowSchema *schema, struct ArrowDeviceArray *column,
                         cai_array **out, cai_error *error);

/** Exports an array as a column. The column holds a reference to the array until its release is
 * called, on any thread.
 *
 * If work may be pending, `stream` waits for it, and for kept uses, as for
 * cai_array_publish_event(), and an event is recorded there as the column's sync_event. Otherwise
 * the driver is not called. The column's release does not wait: the consumer's work on the memory
 * must be complete before it is called.
 *
 * @param array   valid, owned, of one axis, contiguous; its mask, if any, of bits and of its shape.
 *                If its device is CUDA with id -1, cai_array_locate() finds the id
 * @param stream  1, 2 or a CUstream, for the event; may be the array's own
 * @param schema  receives the type; may be NULL
 * @param column  receives the array; null_count is -1 if there is a mask
 * @return #CAI_OK; #CAI_ERR_EXPORT, with the entry, if a column cannot express the array;
 *         #CAI_ERR_DEVICE for ROCm; #CAI_ERR_STATE if the memory was freed; #CAI_ERR_MEMORY;
 *         #CAI_ERR_ARGUMENT, also for a borrowed array and for stream 0; #CAI_ERR_VALUE and
 *         #CAI_ERR_VERSION as cai_array_validate(); the rest as cai_array_locate() and
 *         cai_array_publish_event(). Since 0.1. */
cai_status cai_arrow_write(const cai_array *array, uint64_t stream, struct ArrowSchema *schema,
                           struct ArrowDeviceArray *column, cai_error *error);

/* arrow.h: declarations end */

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif /* CAI_ARROW_H */
