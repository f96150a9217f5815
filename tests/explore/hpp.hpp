// SPDX-License-Identifier: BSD-3-Clause
// cai.hpp as the stage calls it.
#ifndef TESTS_EXPLORE_HPP_HPP
#define TESTS_EXPLORE_HPP_HPP

#include "stage.h"

extern const binding by_hpp;

#endif  // TESTS_EXPLORE_HPP_HPP
