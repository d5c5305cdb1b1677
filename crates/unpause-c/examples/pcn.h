/* PCN (NSDI 2020) in one header: plain C11 in 64-bit integers, without a C library, a heap or floating point.
 *
 *   struct pcn_queue     a switch queue: which packets get the mark CE ("NP-ECN")
 *   struct pcn_receiver  a flow at the receiving NIC: which CNP to send each period T (Fig. 8)
 *   struct pcn_sender    a flow at the sending NIC: its rate (Algorithm 1)
 *
 * Uses nothing else of unpause. `pcn_check.c` compares it with unpause's state machines, bit for bit, through
 * `unpause check`. Times are picoseconds, rates bit/s, fractions multiples of 2^-32. PCN_NEVER is a time that never comes. */
#ifndef PCN_H
#define PCN_H

#include <stdbool.h>
#include <stdint.h>

#define PCN_NEVER UINT64_MAX

/* ---- Arithmetic ---- */

static inline uint64_t pcn_min(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t pcn_max(uint64_t a, uint64_t b) { return a > b ? a : b; }

static inline uint64_t pcn_add(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

/* a * b, at most 2^64 - 1. */
static inline uint64_t pcn_times(uint64_t a, uint64_t b) { return b && a > UINT64_MAX / b ? UINT64_MAX : a * b; }

/* fraction * value / 2^32, rounded down; the fraction is at most 1, that is 2^32. */
static inline uint64_t pcn_part(uint64_t fraction, uint64_t value) {
  return fraction * (value >> 32) + (fraction * (value & UINT32_MAX) >> 32);
}

/* a * b / c, rounded down, at most 2^64 - 1: long multiplication, then long division. */
static inline uint64_t pcn_ratio(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t low = (a & UINT32_MAX) * (b & UINT32_MAX), one = (a >> 32) * (b & UINT32_MAX), other = (a & UINT32_MAX) * (b >> 32);
  uint64_t middle = (low >> 32) + (one & UINT32_MAX) + (other & UINT32_MAX);
  uint64_t high = (a >> 32) * (b >> 32) + (one >> 32) + (other >> 32) + (middle >> 32);
  low = (middle << 32) | (low & UINT32_MAX);
  if (high >= c) return UINT64_MAX;
  for (int bit = 0; bit < 64; bit++) { /* `high` is the remainder, the quotient moves into `low`. */
    bool carry = high >> 63;
    high = high << 1 | low >> 63;
    low <<= 1;
    if (carry || high >= c) {
      high -= c;
      low |= 1;
    }
  }
  return low;
}

/* ---- Switch: NP-ECN ---- */

struct pcn_queue {
  bool paused;
  uint32_t held;       /* The paper's PN: packets still in the queue that a PAUSE held. */
  uint64_t resumed_at; /* When that PAUSE ended: none of them came later. */
};

static inline void pcn_queue_init(struct pcn_queue *it) { *it = (struct pcn_queue){0}; }

static inline void pcn_queue_on_pause(struct pcn_queue *it) { it->paused = true; }

/* PAUSE ends, by XON or because it ran out; `packets` wait. */
static inline void pcn_queue_on_resume(struct pcn_queue *it, uint64_t now, uint32_t packets) {
  if (!it->paused) return;
  it->paused = false;
  it->held = packets;
  it->resumed_at = now;
}

/* A packet has joined the queue; `packets` includes it. */
static inline void pcn_queue_on_enqueue(struct pcn_queue *it, uint32_t packets) {
  it->held = (uint32_t)pcn_min(it->held, packets ? packets - 1 : 0);
}

/* A packet leaves `bytes` and `packets` behind; true if it is to be marked CE. */
static inline bool pcn_queue_on_dequeue(struct pcn_queue *it, uint64_t enqueued_at, bool ect, uint64_t bytes, uint32_t packets) {
  if (it->held > 0 && enqueued_at <= it->resumed_at) {
    it->held = (uint32_t)pcn_min(it->held - 1, packets);
    return false;
  }
  return ect && bytes > 0;
}

/* ---- Receiver ---- */

enum pcn_cnp { PCN_CNP_NONE, PCN_CNP_INCREASE, PCN_CNP_DECREASE };

struct pcn_receiver {
  uint64_t period;                  /* T; 50 us in the paper. */
  uint32_t congested_above_percent; /* 95 in the paper. */
  uint64_t rec_rate_unit;           /* Unit of RecRate in a CNP, bit/s. */
  /* Of the flow: */
  uint64_t first_arrival, last_arrival, inter_arrival, period_end;
  uint32_t packets, marked;
  uint64_t bytes;
};

static inline void pcn_receiver_init(struct pcn_receiver *it, uint64_t period, uint32_t congested_above_percent,
                                     uint64_t rec_rate_unit) {
  *it = (struct pcn_receiver){.period = pcn_max(period, 1000),
                              .congested_above_percent = congested_above_percent,
                              .rec_rate_unit = pcn_max(rec_rate_unit, 1),
                              .first_arrival = PCN_NEVER,
                              .last_arrival = PCN_NEVER,
                              .inter_arrival = PCN_NEVER,
                              .period_end = PCN_NEVER};
}

/* When to call `pcn_receiver_on_timer`, before anything else that happens at that time. */
static inline uint64_t pcn_receiver_next_timer(const struct pcn_receiver *it) { return it->period_end; }

static inline void pcn_receiver_on_data(struct pcn_receiver *it, uint64_t now, uint32_t bytes, bool ce) {
  if (it->period_end == PCN_NEVER) { /* The first packet after silence: periods go on from the flow's first packet. */
    if (it->first_arrival == PCN_NEVER) it->first_arrival = now;
    uint64_t periods = (now - it->first_arrival) / it->period + 1;
    it->period_end = pcn_add(it->first_arrival, pcn_times(periods, it->period));
  }
  if (it->last_arrival != PCN_NEVER) it->inter_arrival = now - it->last_arrival;
  it->last_arrival = now;
  it->packets = it->packets < UINT32_MAX ? it->packets + 1 : UINT32_MAX;
  it->marked = (uint32_t)pcn_min((uint64_t)it->marked + ce, UINT32_MAX);
  it->bytes = pcn_add(it->bytes, bytes);
}

/* The CNP to send; of a decrease with the rate at which the flow arrived, in units of `rec_rate_unit`. */
static inline enum pcn_cnp pcn_receiver_on_timer(struct pcn_receiver *it, uint64_t now, uint32_t *rec_rate) {
  *rec_rate = 0;
  if (it->period_end == PCN_NEVER || now < it->period_end) return PCN_CNP_NONE;
  if (it->packets == 0) {
    it->period_end = PCN_NEVER;
    return PCN_CNP_NONE;
  }
  bool congested = 100 * (uint64_t)it->marked > (uint64_t)it->congested_above_percent * it->packets;
  if (congested) {
    bool alone = it->packets == 1 && it->inter_arrival != PCN_NEVER;
    uint64_t span = alone ? pcn_max(it->period, it->inter_arrival) : it->period;
    uint64_t units = pcn_ratio(it->bytes, UINT64_C(8000000000000), span) / it->rec_rate_unit;
    *rec_rate = (uint32_t)pcn_max(pcn_min(units, UINT32_MAX), 1);
  }
  it->packets = it->marked = 0;
  it->bytes = 0;
  it->period_end = pcn_add(it->period_end, it->period);
  return congested ? PCN_CNP_DECREASE : PCN_CNP_INCREASE;
}

/* ---- Sender ---- */

struct pcn_sender {
  uint64_t w_min, w_max;  /* Fractions; 1/128 and 1/2 in the paper. */
  uint64_t min_rate;      /* The rate never falls below this. */
  uint64_t rec_rate_unit; /* The receiver's. */
  uint64_t line_rate;
  /* Of the flow: */
  uint64_t rate, w;
};

/* Set the five parameters before. */
static inline void pcn_sender_start(struct pcn_sender *it) {
  it->w_min = pcn_min(it->w_min, it->w_max);
  it->min_rate = pcn_min(it->min_rate, it->line_rate);
  it->rate = it->line_rate;
  it->w = it->w_min;
}

static inline void pcn_sender_on_decrease(struct pcn_sender *it, uint32_t rec_rate) {
  uint64_t received = pcn_times(rec_rate, it->rec_rate_unit);
  it->rate = pcn_max(pcn_min(it->rate, received - pcn_part(it->w_min, received)), it->min_rate);
#ifndef KEEPS_WEIGHT /* A mistake that `unpause check` finds: the next increase is too large. */
  it->w = it->w_min;
#endif
}

static inline void pcn_sender_on_increase(struct pcn_sender *it) {
  it->rate += pcn_part(it->w, it->line_rate - it->rate);
  it->w += pcn_part(it->w, it->w_max - it->w);
}

#endif
