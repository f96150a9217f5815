/* SPDX-License-Identifier: BSD-3-Clause */
/* The explorer as a function: explore.cpp says what its arguments are. */
#ifndef TESTS_EXPLORE_EXPLORE_H
#define TESTS_EXPLORE_EXPLORE_H

#ifdef __cplusplus
extern "C" {
#endif

/* Returns 0 if nothing differs. */
int explore(int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif /* TESTS_EXPLORE_EXPLORE_H */
