// SPDX-License-Identifier: BSD-3-Clause
// Functions of tables that make what they are to make, and leave an exception all the same.
#include <Python.h>
#include <cai/array.h>
#include <cai/dlpack.h>

int ended;    // of the objects and tensors made here
int is_late;  // whether an exception is left

static int say(void) {
  if (is_late) PyErr_SetString(PyExc_ZeroDivisionError, "late");
  return 0;
}

static void end_array(PyObject *capsule) {
  cai_array *const array = (cai_array *)PyCapsule_GetPointer(capsule, NULL);
  array->owner->release(array->owner);
  ++ended;
}

static void end_tensor(PyObject *capsule) {
  DLManagedTensorVersioned *const tensor =
      (DLManagedTensorVersioned *)PyCapsule_GetPointer(capsule, NULL);
  tensor->deleter(tensor);
}

int32_t wrap(cai_array *array, void **out) {
  *out = PyCapsule_New(array, NULL, end_array);
  return *out ? say() : -1;
}

static void delete(DLManagedTensorVersioned *tensor) {
  ++ended;
  free(tensor);
}

int allocate_early(DLTensor *prototype, DLManagedTensorVersioned **out, void *context,
                   void (*set_error)(void *, const char *, const char *)) {
  (void)prototype, (void)context, (void)set_error;
  *out = (DLManagedTensorVersioned *)calloc(1, sizeof **out);
  (*out)->deleter = delete;
  return 0;
}

int allocate(DLTensor *prototype, DLManagedTensorVersioned **out, void *context,
             void (*set_error)(void *, const char *, const char *)) {
  allocate_early(prototype, out, context, set_error);
  return say();
}

int to_object(DLManagedTensorVersioned *tensor, void **out) {
  *out = PyCapsule_New(tensor, NULL, end_tensor);
  return *out ? say() : -1;
}
