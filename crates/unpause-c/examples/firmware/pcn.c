/* The loop of ../pcn.c where there is no operating system and no C library: a queue, a receiver and a sender of PCN.
 *
 * A port (cortex_m4.c, linux_x86_64.c) supplies `put` and `stop`, and calls `program` when memory is ready. */
#include "port.h"
#include "unpause.h"

/* The library calls this where it finds a fault of its own. Firmware would restart what it controls. */
void unpause_panic(void) { stop(2); }

static void must(unpause_status status) {
  if (status != UNPAUSE_STATUS_OK) {
    put(unpause_status_text(status));
    put("\n");
    stop(1);
  }
}

static void put_number(uint64_t number) {
  char digits[21];
  char *at = digits + sizeof digits - 1;
  *at = 0;
  do {
    *--at = (char)('0' + number % 10);
    number /= 10;
  } while (number > 0);
  put(at);
}

/* All that the three state machines need: no heap. */
static unpause_congestion_point queue;
static unpause_notification_point receiver;
static unpause_congestion_control sender;

static void create(void) {
  unpause_config config;
  must(unpause_config_create(&config, UNPAUSE_KIND_CONGESTION_POINT, "np-ecn"));
  must(unpause_congestion_point_create(&queue, &config, 1));
  must(unpause_config_create(&config, UNPAUSE_KIND_NOTIFICATION_POINT, "pcn"));
  must(unpause_config_set(&config, "period", UNPAUSE_US(50)));
  must(unpause_notification_point_create(&receiver, &config));
  must(unpause_config_create(&config, UNPAUSE_KIND_CONGESTION_CONTROL, "pcn"));
  must(unpause_config_set(&config, "w_min", UNPAUSE_FRACTION(1, 128)));
  must(unpause_congestion_control_create(&sender, &config, UNPAUSE_GBPS(10), 1000, UNPAUSE_NO_WINDOW, 1));
}

static void on_timer(uint64_t timer) {
  unpause_notification cnp;
  must(unpause_notification_point_on_timer(&receiver, timer, &cnp));
  must(unpause_congestion_control_on_notification(&sender, timer, &cnp));
  unpause_allowance allowance;
  must(unpause_congestion_control_allowance(&sender, &allowance));
  put_number(timer / UNPAUSE_US(1));
  put(cnp.kind == UNPAUSE_NOTIFICATION_KIND_PCN_DECREASE ? " us: decrease to " : " us: increase, ");
  put_number(cnp.rec_rate);
  put(" kb/s, send at ");
  put_number(allowance.rate_bps);
  put(" bit/s\n");
}

/* For 300 us a packet leaves the queue every 1.6 us (5 Gb/s), with others behind it; then with none. */
void program(void) {
  const unpause_packet packet = {.bytes = 1000, .ect = true};
  create();
  for (uint64_t now = 0; now < UNPAUSE_US(600); now += UNPAUSE_NS(1600)) {
    uint64_t timer;
    must(unpause_notification_point_next_timer(&receiver, &timer));
    if (timer <= now) on_timer(timer); /* Timers come before whatever else happens at that time. */
    bool backlog = now < UNPAUSE_US(300);
    unpause_queue behind = {.bytes = backlog ? 20000 : 0, .packets = backlog ? 20 : 0};
    unpause_verdict verdict;
    must(unpause_congestion_point_on_dequeue(&queue, now, &packet, behind, &verdict));
    unpause_notification at_once;
    bool ce = verdict.kind == UNPAUSE_VERDICT_KIND_MARK_CE;
    must(unpause_notification_point_on_data(&receiver, now, packet.bytes, ce, &at_once));
  }
}
