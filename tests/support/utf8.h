/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UTF8_H
#define UTF8_H

#include <stddef.h>

/* 1 if the `size` bytes are UTF-8: no overlong form, no surrogate, nothing above U+10FFFF. */
static inline int is_utf8(const char *text, size_t size) {
  const unsigned char *p = (const unsigned char *)text, *end = p + size;
  while (p < end) {
    size_t more = *p < 0x80                 ? 0
                  : *p >= 0xC2 && *p < 0xE0 ? 1
                  : *p >= 0xE0 && *p < 0xF0 ? 2
                  : *p >= 0xF0 && *p < 0xF5 ? 3
                                            : 9,
           i;
    if (more == 9 || (size_t)(end - p) <= more) return 0;
    if ((*p == 0xE0 && p[1] < 0xA0) || (*p == 0xED && p[1] > 0x9F) || (*p == 0xF0 && p[1] < 0x90) ||
        (*p == 0xF4 && p[1] > 0x8F))
      return 0;
    for (i = 1; i <= more; ++i)
      if ((p[i] & 0xC0) != 0x80) return 0;
    p += more + 1;
  }
  return 1;
}

#endif /* UTF8_H */
