/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts allocations, and lets one of libcai's own fail, for programs of which allocations.cpp is a
 * part. Sanitizers have malloc() for themselves: there it is operator new that is counted and
 * fails. */
#ifndef ALLOCATIONS_H
#define ALLOCATIONS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct allocations {
  long made, freed; /* by anybody */
  long of_program;  /* of those made: by the program's code, with operator new */
  long of_libcai;   /* those that libcai's code asked for, successful or not */
  size_t largest;   /* bytes asked for at once */
} allocations;

/* 1 if malloc() and free() are counted: not under sanitizers and valgrind. */
int allocations_counted(void);

/* What happened since the last call of allocations_reset(). */
allocations allocations_now(void);
void allocations_reset(void);

/* Lets libcai's nth allocation from now, 0 being the next, find no memory; -1: none. */
void allocations_fail(long nth);

/* The blocks that libcai's code has asked for since the first call of this, and nobody has freed.
 */
long allocations_kept(void);

/* Calls `told` at each allocation of libcai's code; NULL: no more. */
void allocations_tell(void (*told)(void *), void *context);

#ifdef __cplusplus
}
#endif

#endif /* ALLOCATIONS_H */
