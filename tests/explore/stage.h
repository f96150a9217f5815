/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parties of a program do, a function for each: through libcai, and through the driver
 * where a party has none. They run on simcuda, which is asked what came before what. One
 * program runs at a time, between open_stage() and close_stage(); all is called from one thread,
 * thread 1.
 *
 * A function that returns a cai_status returns what libcai said, and where that is no success the
 * step has had no effect on the program. What must not fail, and fails, ends the process. */
#ifndef TESTS_EXPLORE_STAGE_H
#define TESTS_EXPLORE_STAGE_H

#include <stdint.h>

#include "cai.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Streams: 1; 2 of each of two threads; two blocking and two non-blocking ones; 1 of a second
 * context. Work on THREAD_2 is given by a second thread, all other by the first. HOST is none. */
enum {
  HOST = -1,
  LEGACY,
  THREAD_1,
  THREAD_2,
  BLOCKING_1,
  BLOCKING_2,
  NON_BLOCKING_1,
  NON_BLOCKING_2,
  OTHER_CONTEXT
};

/* Who keeps the array: an owner that keeps uses; the same with one of the flags; the exporter of a
 * dict, which keeps none, and was imported. */
enum { PLAIN, RECLAIMS, STREAM_ORDERED, FOREIGN };

enum { MAX_ARRAYS = 5, MAX_USES = 2, MAX_WORK = 12 };

/* ---- A producer ------------------------------------------------------------------------------ */

/* Writes on stream `work`, and says an array, array 0: of stream_kind `kind`; where that is STREAM,
 * it says `target`, and publishes if that is another one. */
cai_status make_array(int keeper, uint32_t kind, int work, int target);
/* Reads or writes (CAI_ACCESS_*) on the stream; before that reclaims the array, if `reclaim`. */
cai_status produce(int array, int stream, uint32_t access, int reclaim);
/* The same by a producer without libcai, which keeps the text of version 3. */
void produce_by_the_text(int array, int stream, uint32_t access);
/* A copy of the array, as array `copy`, comes with `target`, or with an event recorded there; what
 * is pending on the streams, a bit each, comes before. */
cai_status publish(int array, int copy, uint32_t streams, int target);
cai_status publish_event(int array, int copy, uint32_t streams, int target);

/* ---- Consumers ------------------------------------------------------------------------------- */

/* Use `number` begins, in that CAI_ORDER_*, and ends: as work on the stream is given. */
cai_status begin(int number, int array, int stream, uint32_t order, uint32_t access);
cai_status end(int number, int stream);
/* Reads or writes the array's memory on the stream, or as the host. */
void work(int array, int stream, uint32_t access);
/* The array is released by cai_array_release_on(). */
cai_status release_on(int array, int stream);
/* Works on the array's own stream, which cai_arrays_same_stream() must name. */
cai_status work_on_its_stream(int array, int stream, uint32_t access);
cai_status sync_host(int array);
/* A party without libcai gets the array as a dict and keeps the text of version 3. An array that
 * can only be said once it is published on 1 is, as array `copy`; 0: it is not to be. On
 * HOST, its host waits for the stream that the dict says. */
cai_status use_by_the_text(int array, int copy, int stream, uint32_t access);
/* The exporter of array 0 is read once more, from its second byte on, as array `alias`. */
cai_status import_again(int alias);

/* ---- The end --------------------------------------------------------------------------------- */

/* The last reference is released. The code that frees the memory then writes all of it. */
void drop(int array);
/* Waits until all deferred ends are done. Returns how much is left: 0. */
int64_t drain(void);

/* ---- How libcai is called -------------------------------------------------------------------- */

/* Through cai.h, or through another language's binding, which keeps what it has for each array and
 * use, by its number. A function that makes an array says where its struct is: there it stays until
 * release(). The stage calls begin() and end() on the thread of the stream, with its context
 * current. They return what libcai said, and fill in the error where that is no success. */
struct binding {
  const char *name;
  /* `release` is called once, with NULL, when the array's owner ends. CAI_OWNER_IMPORTED in the
   * flags: the array is an exporter's, and is read from its dict where the binding does so. */
  cai_status (*own)(int array, const cai_array *borrowed, uint32_t flags, void (*release)(void *),
                    const cai_array **made, cai_error *error);
  cai_status (*publish)(int array, int copy, const uint64_t *streams, int32_t count,
                        uint64_t target, const cai_array **made, cai_error *error);
  cai_status (*publish_event)(int array, int copy, uint64_t stream, const cai_array **made,
                              cai_error *error);
  cai_status (*reclaim)(int array, uint64_t stream, uint32_t access, cai_error *error);
  cai_status (*begin)(int number, int array, uint64_t stream, uint32_t order, uint32_t access,
                      cai_error *error);
  cai_status (*end)(int number, cai_error *error);
  /* This releases another reference to the array. */
  cai_status (*release_on)(int array, uint64_t stream, cai_error *error);
  cai_status (*same_stream)(int array, uint64_t *stream, cai_error *error);
  cai_status (*sync_host)(int array, cai_error *error);
  /* The stream that a dict says, or 0 for None. Where the array cannot be said before it is
   * published, the binding may do so by itself, or return CAI_ERR_EXPORT. */
  cai_status (*say)(int array, uint64_t *stream, cai_error *error);
  void (*release)(int array);
  cai_status (*drain)(int64_t *left, cai_error *error); /* waits */
};

/* From now on programs play through a binding, and through cai.h where that has NULL; says where
 * that is. */
void play_through(const struct binding *binding);
const char *binding_name(void);
/* From now on more order than the rules ask for is no fault, nor what it costs. */
void allow_more_order(void);
int may_order_more(void);

/* ---- The stage ------------------------------------------------------------------------------- */

void open_stage(void);
/* Releases all that is left, and forgets it. */
void close_stage(void);

/* Pieces of work so far, the writing by make_array() and by who frees the memory among them. */
int work_count(void);
/* Whether simcuda orders the first before the second. */
int comes_before(int first, int second);
/* Whether there is such an array: a copy that a binding has published by itself is none. */
int has_array(int array);
/* Whether the binding has published by itself what a dict could not say: records and waits of that
 * are its own, and so is the order that follows from them. */
int has_published_by_itself(void);
/* How often the memory was freed. */
int frees(void);
/* Races, records, and waits of streams and of the host, since the stage was opened. */
uint64_t races(void);
uint64_t records(void);
uint64_t waits(void);
/* What libcai said last. */
const char *last_error(void);

#ifdef __cplusplus
}
#endif

#endif /* TESTS_EXPLORE_STAGE_H */
