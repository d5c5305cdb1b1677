/* A sender of PCN (NSDI 2020, Algorithm 1) that uses nothing of this library, driven by `unpause check`:
 *
 *   cc -O1 -o pcn_sender pcn_sender.c
 *   unpause check pcn --kind congestion-control --words --against ./pcn_sender
 *
 * Each line of the input is an event in words: `notification notification=pcn-decrease now_ps=0 rec_rate=2499000`.
 * Replace the three functions below by calls of your own implementation. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fractions in units of 2^-32, rates in bit/s. */
struct pcn {
  uint64_t w_min, w_max, min_rate, rec_rate_unit;
  uint64_t line_rate, rate, w;
};

static uint64_t of_value(uint64_t fraction, uint64_t value) {
  /* fraction * value / 2^32 with 64 bits: value has at most 2^32 whole units of 2^32. */
  return fraction * (value >> 32) + (fraction * (value & UINT32_MAX) >> 32);
}

static void start(struct pcn *it) {
  it->rate = it->line_rate;
  it->w = it->w_min;
}

static void decrease(struct pcn *it, uint64_t rec_rate) {
  uint64_t received = rec_rate * it->rec_rate_unit;
  uint64_t lower = received - of_value(it->w_min, received);
  if (lower < it->rate) it->rate = lower;
  if (it->rate < it->min_rate) it->rate = it->min_rate;
#ifndef KEEPS_WEIGHT /* A mistake that `unpause check` finds: the next increase is too large. */
  it->w = it->w_min;
#endif
}

static void increase(struct pcn *it) {
  it->rate += of_value(it->w, it->line_rate - it->rate);
  it->w += of_value(it->w, it->w_max - it->w);
}

/* The text of a word `name=text` of a line, or nothing. */
static const char *word(const char *line, const char *name) {
  size_t length = strlen(name);
  for (const char *at = line; (at = strstr(at, name)) != NULL; at += length)
    if ((at == line || at[-1] == ' ') && at[length] == '=') return at + length + 1;
  return "";
}

static uint64_t number(const char *line, const char *name) { return strtoull(word(line, name), NULL, 10); }

int main(void) {
  static char line[1 << 16];
  struct pcn it = {0};
  while (fgets(line, sizeof line, stdin)) {
    const char *message = word(line, "notification");
    if (strncmp(line, "create ", 7) == 0) {
      it = (struct pcn){.w_min = number(line, "parameters.w_min"),
                        .w_max = number(line, "parameters.w_max"),
                        .min_rate = number(line, "parameters.min_rate"),
                        .rec_rate_unit = number(line, "parameters.rec_rate_unit"),
                        .line_rate = number(line, "line_rate_bps")};
      start(&it);
    } else if (strncmp(message, "pcn-decrease", 12) == 0) {
      decrease(&it, number(line, "rec_rate"));
    } else if (strncmp(message, "pcn-increase", 12) == 0) {
      increase(&it);
    }
    /* PCN has no window and no timer of its own: they are expected to be nothing, and may be left out. */
    printf("rate_bps=%" PRIu64 "\n", it.rate);
    fflush(stdout);
  }
  return 0;
}
