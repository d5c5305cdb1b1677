/* `pcn.h` driven by `unpause check`:
 *
 *   cc -O1 -o pcn_check pcn_check.c
 *   unpause check pcn --words --against ./pcn_check
 *   unpause check np-ecn --words --against ./pcn_check
 *
 * Each line of the input is an event in words: `notification notification=pcn-decrease now_ps=0 rec_rate=2499000`.
 * Replace the calls of pcn.h by calls of your own implementation. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pcn.h"

/* The text of a word `name=text` of a line, or nothing. */
static const char *word(const char *line, const char *name) {
  size_t length = strlen(name);
  for (const char *at = line; (at = strstr(at, name)) != NULL; at += length)
    if ((at == line || at[-1] == ' ') && at[length] == '=') return at + length + 1;
  return "";
}

static bool is(const char *text, const char *expected) {
  size_t length = strlen(expected);
  return strncmp(text, expected, length) == 0 && (text[length] == ' ' || text[length] == '\n' || text[length] == 0);
}

static uint64_t number(const char *line, const char *name) { return strtoull(word(line, name), NULL, 10); }

static void on_queue(const char *line) {
  static struct pcn_queue it;
  bool mark = false;
  uint32_t packets = (uint32_t)number(line, "queue_packets");
  if (is(line, "create")) {
    pcn_queue_init(&it);
  } else if (is(line, "pause")) {
    pcn_queue_on_pause(&it);
  } else if (is(line, "resume")) {
    pcn_queue_on_resume(&it, number(line, "now_ps"), packets);
  } else if (is(line, "enqueue")) {
    pcn_queue_on_enqueue(&it, packets);
  } else if (is(line, "dequeue")) {
    bool ect = is(word(line, "ect"), "true");
    mark = pcn_queue_on_dequeue(&it, number(line, "enqueued_at_ps"), ect, number(line, "queue_bytes"), packets);
  }
  printf("verdict=%s\n", mark ? "mark-ce" : "pass");
}

static void on_receiver(const char *line) {
  static const char *const names[] = {"none", "pcn-increase", "pcn-decrease"};
  static struct pcn_receiver it;
  enum pcn_cnp cnp = PCN_CNP_NONE;
  uint32_t rec_rate = 0;
  if (is(line, "create")) {
    pcn_receiver_init(&it, number(line, "parameters.period"), (uint32_t)number(line, "parameters.congested_above_percent"),
                      number(line, "parameters.rec_rate_unit"));
  } else if (is(line, "data")) {
    pcn_receiver_on_data(&it, number(line, "now_ps"), (uint32_t)number(line, "bytes"), is(word(line, "ce"), "true"));
  } else if (is(line, "timer")) {
    cnp = pcn_receiver_on_timer(&it, number(line, "now_ps"), &rec_rate);
  }
  printf("notification=%s", names[cnp]);
  if (cnp == PCN_CNP_DECREASE) printf(" rec_rate=%" PRIu32, rec_rate);
  uint64_t timer = pcn_receiver_next_timer(&it);
  if (timer != PCN_NEVER) printf(" timer_ps=%" PRIu64, timer);
  printf("\n");
}

static void on_sender(const char *line) {
  static struct pcn_sender it;
  if (is(line, "create")) {
    it = (struct pcn_sender){.w_min = number(line, "parameters.w_min"),
                             .w_max = number(line, "parameters.w_max"),
                             .min_rate = number(line, "parameters.min_rate"),
                             .rec_rate_unit = number(line, "parameters.rec_rate_unit"),
                             .line_rate = number(line, "line_rate_bps")};
    pcn_sender_start(&it);
  } else if (is(word(line, "notification"), "pcn-decrease")) {
    pcn_sender_on_decrease(&it, (uint32_t)number(line, "rec_rate"));
  } else if (is(word(line, "notification"), "pcn-increase")) {
    pcn_sender_on_increase(&it);
  }
  /* PCN has no window and no timer at the sender: they are expected to be nothing, and may be left out. */
  printf("rate_bps=%" PRIu64 "\n", it.rate);
}

int main(void) {
  static char line[1 << 16];
  void (*answer)(const char *) = on_sender;
  while (fgets(line, sizeof line, stdin)) {
    if (is(line, "create")) {
      const char *kind = word(line, "kind");
      answer = is(kind, "congestion-point") ? on_queue : is(kind, "notification-point") ? on_receiver : on_sender;
    }
    answer(line);
    fflush(stdout);
  }
  return 0;
}
