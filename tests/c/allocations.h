/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the process's allocations, and makes one fail. A sanitizer and valgrind have malloc for
 * themselves: then nothing is counted and nothing fails, and tests skip what needs it. */
#ifndef ALLOCATIONS_H
#define ALLOCATIONS_H

#include <stddef.h>

typedef struct allocations {
  long made, freed;
  size_t largest; /* bytes asked for at once */
} allocations;

/* 1 if allocations are counted here. */
int allocations_counted(void);

/* What happened since the last call of allocations_reset(). */
allocations allocations_now(void);
void allocations_reset(void);

/* Lets `count` allocations succeed and then fails all, until called with -1. */
void allocations_fail_after(long count);

#endif /* ALLOCATIONS_H */
