/* SPDX-License-Identifier: BSD-3-Clause */
/* Two copies of libcai, of which each call goes to one: which one depends on the program's calls
 * alone. */
#ifndef TESTS_EXPLORE_COPIES_H
#define TESTS_EXPLORE_COPIES_H

#include "stage.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct binding by_copies;

#ifdef __cplusplus
}
#endif

#endif /* TESTS_EXPLORE_COPIES_H */
