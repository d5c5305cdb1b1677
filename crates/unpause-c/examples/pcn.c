/* A queue, a receiver and a sender of PCN: what a switch and two network cards would do. */
#include <stdio.h>
#include <stdlib.h>

#include "unpause.h"

static void must(unpause_status status, const char *what) {
  if (status != UNPAUSE_STATUS_OK) {
    fprintf(stderr, "%s: %s\n", what, unpause_status_text(status));
    exit(1);
  }
}

int main(void) {
  const uint64_t line_rate = UNPAUSE_GBPS(10);
  const unpause_packet packet = {.bytes = 1000, .ect = true};

  /* A mechanism is chosen by name; its defaults may be changed. */
  unpause_config config;
  unpause_congestion_point queue;
  must(unpause_config_create(&config, UNPAUSE_KIND_CONGESTION_POINT, "np-ecn"), "np-ecn");
  must(unpause_congestion_point_create(&queue, &config, 1), "queue");

  unpause_notification_point receiver;
  must(unpause_config_create(&config, UNPAUSE_KIND_NOTIFICATION_POINT, "pcn"), "receiver's pcn");
  must(unpause_config_set(&config, "period", UNPAUSE_US(50)), "period");
  must(unpause_notification_point_create(&receiver, &config), "receiver");

  unpause_congestion_control sender;
  must(unpause_config_create(&config, UNPAUSE_KIND_CONGESTION_CONTROL, "pcn"), "sender's pcn");
  must(unpause_config_set(&config, "w_min", UNPAUSE_FRACTION(1, 128)), "w_min");
  must(unpause_congestion_control_create(&sender, &config, line_rate, 1000, UNPAUSE_NO_WINDOW, 1), "sender");

  /* For 300 us a packet leaves the queue every 1.6 us (5 Gb/s), with others behind it; then with none. */
  for (uint64_t now = 0; now < UNPAUSE_US(600); now += UNPAUSE_NS(1600)) {
    uint64_t timer;
    must(unpause_notification_point_next_timer(&receiver, &timer), "timer");
    if (timer <= now) { /* Timers come before whatever else happens at that time. */
      unpause_notification cnp;
      must(unpause_notification_point_on_timer(&receiver, timer, &cnp), "timer");
      must(unpause_congestion_control_on_notification(&sender, timer, &cnp), "CNP");
      unpause_allowance allowance;
      must(unpause_congestion_control_allowance(&sender, &allowance), "allowance");
      printf("%llu us: %s %u kb/s, send at %llu bit/s\n", (unsigned long long)(timer / UNPAUSE_US(1)),
             cnp.kind == UNPAUSE_NOTIFICATION_KIND_PCN_DECREASE ? "decrease to" : "increase,", cnp.rec_rate,
             (unsigned long long)allowance.rate_bps);
    }
    bool backlog = now < UNPAUSE_US(300);
    unpause_queue behind = {.bytes = backlog ? 20000 : 0, .packets = backlog ? 20 : 0};
    unpause_verdict verdict;
    must(unpause_congestion_point_on_dequeue(&queue, now, &packet, behind, &verdict), "dequeue");
    bool ce = verdict.kind == UNPAUSE_VERDICT_KIND_MARK_CE;
    unpause_notification at_once;
    must(unpause_notification_point_on_data(&receiver, now, packet.bytes, ce, &at_once), "data");
  }
  return 0;
}
