// SPDX-License-Identifier: BSD-3-Clause
// Rule: What was said of dumps after a fault can be asked for: of a context, or else of all. Where
// no name was said, the name is empty.
// Source: cuda.h, cuCoredumpSetAttribute and cuCoredumpGetAttributeGlobal; an H100's name
#include "driver_test.h"

enum { ENABLED = 1, TRIGGERS_HOST = 2, LIGHTWEIGHT = 3, NAME = 5, PIPE = 6, UNKNOWN = 99 };
enum { TEXT = 1024 };

int main(void) {
  start();
  USE(cuCoredumpSetAttribute, 12010, int, void *, size_t *);
  USE(cuCoredumpGetAttribute, 12010, int, void *, size_t *);
  USE(cuCoredumpSetAttributeGlobal, 12010, int, void *, size_t *);
  USE(cuCoredumpGetAttributeGlobal, 12010, int, void *, size_t *);
  char value = 9, yes = 1, no = 0, text[TEXT] = "none", far[2 * TEXT];
  size_t one = 1, room = TEXT, size = 0, zero = 0;
  MUST(cuCoredumpGetAttributeGlobal(NAME, NULL, &size));
  MUST_BE(size, TEXT);
  MUST(cuCoredumpGetAttributeGlobal(PIPE, NULL, &size));
  MUST_BE(size, TEXT);
  MUST(cuCoredumpGetAttributeGlobal(LIGHTWEIGHT, NULL, &size));
  MUST_BE(size, 1);
  MUST(cuCoredumpGetAttributeGlobal(ENABLED, &value, &one));
  MUST_BE(value, 0);
  MUST(cuCoredumpGetAttributeGlobal(TRIGGERS_HOST, &value, &one));
  MUST_BE(value, 1);
  MUST(cuCoredumpGetAttributeGlobal(NAME, text, &room));
  MUST_BE(strcmp(text, ""), 0);

  MUST(cuCoredumpSetAttributeGlobal(TRIGGERS_HOST, &no, &one));
  MUST(cuCoredumpGetAttributeGlobal(TRIGGERS_HOST, &value, &one));
  MUST_BE(value, 0);
  MUST(cuCoredumpSetAttribute(LIGHTWEIGHT, &yes, &one));
  MUST(cuCoredumpGetAttribute(LIGHTWEIGHT, &value, &one));
  MUST_BE(value, 1);
  MUST(cuCoredumpGetAttributeGlobal(LIGHTWEIGHT, &value, &one));
  MUST_BE(value, 0);
  char name[] = "a name";
  room = TEXT;
  size = sizeof name;
  MUST(cuCoredumpSetAttributeGlobal(NAME, name, &size));
  MUST(cuCoredumpGetAttributeGlobal(NAME, text, &room));
  MUST_BE(strcmp(text, name), 0);

  memset(far, 'a', sizeof far);
  size = sizeof far;
  MUST_BE(cuCoredumpSetAttributeGlobal(NAME, far, &size), INVALID_VALUE);
  MUST_BE(cuCoredumpSetAttributeGlobal(UNKNOWN, &yes, &one), INVALID_VALUE);
  MUST_BE(cuCoredumpSetAttributeGlobal(0, &yes, &one), INVALID_VALUE);
  MUST_BE(cuCoredumpSetAttributeGlobal(LIGHTWEIGHT, &yes, &zero), INVALID_VALUE);
  MUST_BE(cuCoredumpSetAttributeGlobal(LIGHTWEIGHT, &yes, NULL), INVALID_VALUE);
  MUST_BE(cuCoredumpGetAttributeGlobal(LIGHTWEIGHT, &value, &zero), INVALID_VALUE);
  room = 3;
  MUST_BE(cuCoredumpGetAttributeGlobal(NAME, text, &room), INVALID_VALUE);
  return 0;
}
