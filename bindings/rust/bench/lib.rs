// SPDX-License-Identifier: BSD-3-Clause
//! Nothing: the measurements are in benches/.
