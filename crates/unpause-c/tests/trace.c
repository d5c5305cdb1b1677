/* Every mechanism through the C interface on a trace that tests/program/ runs through Rust's, too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unpause.h"

#define MUST(call) must(call, #call)
static void must(unpause_status status, const char *what) {
  if (status != UNPAUSE_STATUS_OK) {
    fprintf(stderr, "%s: %s\n", what, unpause_status_text(status));
    exit(1);
  }
}

static uint64_t state, hash;
static uint32_t draw(void) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(state >> 33);
}
static void note(uint64_t value) { hash = (hash ^ value) * UINT64_C(1099511628211); }
static void start(void) {
  state = 1;
  hash = UINT64_C(14695981039346656037);
}
static void note_notification(const unpause_notification *it) {
  note(it->kind);
  note(it->rec_rate);
  note(it->qfb);
  note((uint32_t)it->q_offset);
  note((uint32_t)it->q_delta);
}

static void congestion_point(const char *name) {
  start();
  unpause_config config;
  unpause_congestion_point point;
  MUST(unpause_config_create(&config, UNPAUSE_KIND_CONGESTION_POINT, name));
  /* Where the trace would not show anything by default. */
  if (strcmp(name, "dctcp-red") == 0) MUST(unpause_config_set(&config, "threshold", 20000));
  if (strcmp(name, "wred") == 0) {
    MUST(unpause_config_set(&config, "kmin", 5000));
    MUST(unpause_config_set(&config, "kmax", 60000));
    MUST(unpause_config_set(&config, "pmax", UNPAUSE_FRACTION(1, 10)));
  }
  if (strcmp(name, "faults") == 0) {
    MUST(unpause_config_set(&config, "drop_probability", UNPAUSE_FRACTION(1, 100)));
    MUST(unpause_config_set(&config, "mark_5", 77));
  }
  MUST(unpause_congestion_point_create(&point, &config, 7));
  static unpause_packet packets[20000];
  uint32_t head = 0, tail = 0, marks = 0;
  unpause_queue queue = {0};
  uint64_t now = 0;
  for (int event = 0; event < 20000; event++) {
    now += draw() % 3000000;
    unpause_verdict verdict;
    if (event % 97 == 0) {
      MUST(unpause_congestion_point_on_pause(&point, now));
    } else if (event % 97 == 5) {
      MUST(unpause_congestion_point_on_resume(&point, now, queue));
    }
    if (head == tail || draw() % 1000 < 505) {
      unpause_packet *packet = &packets[tail++];
      *packet = (unpause_packet){.enqueued_at_ps = now, .bytes = 64 + draw() % 1437, .ect = draw() % 8 != 0};
      queue.bytes += packet->bytes;
      queue.packets++;
      MUST(unpause_congestion_point_on_enqueue(&point, now, packet, queue, &verdict));
    } else {
      unpause_packet *packet = &packets[head++];
      queue.bytes -= packet->bytes;
      queue.packets--;
      MUST(unpause_congestion_point_on_dequeue(&point, now, packet, queue, &verdict));
    }
    marks += verdict.kind == UNPAUSE_VERDICT_KIND_MARK_CE;
    note(verdict.kind);
    note_notification(&verdict.notification);
  }
  printf("congestion point %s: %u marks, %016llx\n", name, marks, (unsigned long long)hash);
}

static void notification_point(const char *name) {
  start();
  unpause_config config;
  unpause_notification_point point;
  MUST(unpause_config_create(&config, UNPAUSE_KIND_NOTIFICATION_POINT, name));
  MUST(unpause_notification_point_create(&point, &config));
  uint64_t now = 0;
  uint32_t sent = 0;
  for (int event = 0; event < 20000; event++) {
    now += draw() % 2000000 + (event % 500 == 0 ? UNPAUSE_US(130) : 0);
    unpause_notification notification;
    uint64_t timer;
    for (;;) {
      MUST(unpause_notification_point_next_timer(&point, &timer));
      if (timer > now) break;
      MUST(unpause_notification_point_on_timer(&point, timer, &notification));
      note_notification(&notification);
      sent += notification.kind != UNPAUSE_NOTIFICATION_KIND_NONE;
    }
    bool ce = event / 1000 % 2 == 0 || draw() % 4 == 0;
    MUST(unpause_notification_point_on_data(&point, now, 1000, ce, &notification));
    note_notification(&notification);
    sent += notification.kind != UNPAUSE_NOTIFICATION_KIND_NONE;
  }
  printf("notification point %s: %u sent, %016llx\n", name, sent, (unsigned long long)hash);
}

static unpause_allowance ask(const unpause_congestion_control *control) {
  unpause_allowance it;
  MUST(unpause_congestion_control_allowance(control, &it));
  return it;
}

static void congestion_control_event(unpause_congestion_control *control, uint64_t now, uint64_t *sent) {
  uint32_t what = draw() % 16;
  if (what < 8) {
    uint32_t rtt = 10000000 + draw() % 200000000;
    unpause_hop hops[2] = {
        {.time_ps = now, .tx_bytes = *sent, .queue_bytes = draw() % 20000, .rate_bps = 10000000000},
        {.time_ps = now, .tx_bytes = 3 * *sent, .rate_bps = 40000000000}};
    unpause_ack ack = {
        .hops = hops, .hop_count = 2, .now_ps = now, .rtt_ps = draw() % 4 ? rtt : UNPAUSE_NEVER, .bytes = 1000, .acknowledged = *sent,
        .sent = *sent + 20000, .ce = draw() % 3 == 0, .may_grow = draw() % 4 != 0};
    MUST(unpause_congestion_control_on_ack(control, &ack));
  } else if (what < 11) {
    unpause_notification it = {.kind = draw() % 5, .rec_rate = draw() % 10000000, .qfb = draw() % 64};
    it.q_offset = -(int32_t)(draw() % 50000);
    it.q_delta = (int32_t)(draw() % 5000);
    MUST(unpause_congestion_control_on_notification(control, now, &it));
  } else if (what < 15) {
    *sent += 1000;
    MUST(unpause_congestion_control_on_sent(control, now, 1000, draw() % 8 != 0));
  } else if (draw() % 8 == 0) {
    MUST(unpause_congestion_control_on_loss(control, now, draw() % 4, 15000, 20000));
    MUST(unpause_congestion_control_on_recovered(control, 1000000));
  }
}

static void congestion_control(const char *name) {
  start();
  unpause_config config;
  unpause_congestion_control control;
  MUST(unpause_config_create(&config, UNPAUSE_KIND_CONGESTION_CONTROL, name));
  MUST(unpause_congestion_control_create(&control, &config, UNPAUSE_GBPS(10), 1000, 10000, 7));
  uint64_t now = 0, sent = 0;
  for (int event = 0; event < 20000; event++) {
    now += draw() % 3000000;
    while (ask(&control).timer_ps <= now) {
      MUST(unpause_congestion_control_on_timer(&control, ask(&control).timer_ps));
    }
    congestion_control_event(&control, now, &sent);
    unpause_allowance it = ask(&control);
    note(it.rate_bps);
    note(it.window_bytes);
    note(it.ssthresh_bytes);
    note(it.timer_ps);
    note(it.burst_bytes);
    note(it.ecn_capable);
  }
  unpause_allowance it = ask(&control);
  printf("congestion control %s: %llu bit/s, %016llx\n", name, (unsigned long long)it.rate_bps,
         (unsigned long long)hash);
}

static void pfc(void) {
  start();
  unpause_config config;
  unpause_pfc_ingress ingress;
  unpause_pfc_egress egress;
  MUST(unpause_config_create(&config, UNPAUSE_KIND_FLOW_CONTROL, "pfc"));
  MUST(unpause_config_set(&config, "pause_quanta", 400));
  MUST(unpause_pfc_ingress_create(&ingress, &config, UNPAUSE_GBPS(10)));
  MUST(unpause_pfc_egress_create(&egress, UNPAUSE_GBPS(10)));
  uint64_t now = 0, held = 0;
  for (int event = 0; event < 20000; event++) {
    now += draw() % 3000000;
    unpause_pfc_ingress_state in;
    unpause_pfc_egress_state out;
    unpause_pfc_action action;
    unpause_pfc_change change;
    MUST(unpause_pfc_ingress_on_timer(&ingress, now, &action));
    note(action);
    MUST(unpause_pfc_egress_on_timer(&egress, now, &change));
    note(change);
    if (held < 1000 || draw() % 2 == 0) {
      held += 1000;
      MUST(unpause_pfc_ingress_on_admit(&ingress, now, 1000, 50000, &action));
    } else {
      held -= 1000;
      MUST(unpause_pfc_ingress_on_release(&ingress, now, 1000, 48000, &action));
    }
    note(action);
    MUST(unpause_pfc_ingress_ask(&ingress, &in));
    note(in.bytes);
    note(in.timer_ps);
    note(in.is_xoff);
    if (action != UNPAUSE_PFC_ACTION_NONE) {
      uint16_t quanta = action == UNPAUSE_PFC_ACTION_XOFF ? in.pause_quanta : 0;
      MUST(unpause_pfc_egress_on_frame(&egress, now, quanta, &change));
      note(change);
    }
    MUST(unpause_pfc_egress_ask(&egress, &out));
    note(out.timer_ps);
    note(out.is_paused);
  }
  printf("pfc: %llu bytes, %016llx\n", (unsigned long long)held, (unsigned long long)hash);
}

static void spraying(const char *name) {
  start();
  unpause_config config;
  unpause_spraying flow;
  MUST(unpause_config_create(&config, UNPAUSE_KIND_SPRAYING, name));
  MUST(unpause_spraying_create(&flow, &config, 7));
  uint64_t now = 0;
  uint32_t sum = 0;
  for (int event = 0; event < 20000; event++) {
    now += draw() % 3000000;
    uint16_t value;
    MUST(unpause_spraying_next(&flow, now, &value));
    note(value);
    sum += value;
    /* A timeout is rare: REPS does not learn for 10 ms after it. */
    uint32_t echo = draw() % 2000 == 0 ? UNPAUSE_ECHO_TIMEOUT : draw() % 3;
    MUST(unpause_spraying_on_echo(&flow, now, draw() % 4 ? value : draw() % 64, echo));
  }
  printf("spraying %s: %u, %016llx\n", name, sum, (unsigned long long)hash);
}

static void nscc(const char *name) {
  start();
  unpause_config config;
  unpause_nscc flow;
  MUST(unpause_config_create(&config, UNPAUSE_KIND_SPRAYED_WINDOW, name));
  MUST(unpause_nscc_create(&flow, &config, UNPAUSE_US(12)));
  uint64_t now = 0;
  unpause_nscc_state it;
  for (int event = 0; event < 20000; event++) {
    now += draw() % 1000000;
    uint64_t rtt = draw() % 8 ? UNPAUSE_US(12) + draw() % 20000000 : UNPAUSE_NEVER;
    uint32_t what = draw() % 64;
    if (what < 60) {
      unpause_nscc_ack ack = {
          .now_ps = now, .rtt_ps = rtt, .bytes = draw() % 16384, .in_flight = draw() % 200000,
          .kept = draw() % 16 ? 255 : draw() % 256, .marked = draw() % 4 == 0};
      MUST(unpause_nscc_on_ack(&flow, &ack));
    } else if (what < 63) {
      unpause_nscc_nack nack = {
          .now_ps = now, .rtt_ps = rtt, .bytes = 4150, .in_flight = draw() % 200000, .credited = draw() % 2 == 0};
      MUST(unpause_nscc_on_nack(&flow, &nack));
    } else {
      MUST(unpause_nscc_on_timeout(&flow, 4150));
    }
    MUST(unpause_nscc_ask(&flow, &it));
    note(it.window_bytes);
    note(it.base_rtt_ps);
    note(it.average_delay_ps);
  }
  printf("%s: %llu bytes, %016llx\n", name, (unsigned long long)it.window_bytes, (unsigned long long)hash);
}

static void frames(void) {
  uint8_t payload[300], bytes[2000];
  for (size_t at = 0; at < sizeof(payload); at++) payload[at] = (uint8_t)at;
  for (uint32_t kind = 0; kind <= UNPAUSE_FRAME_KIND_CNP; kind++) {
    unpause_frame frame = {
        .kind = kind, .rec_rate = 123456, .destination_qp = 2, .psn = 77, .msn = 5, .source_port = 50000,
        .classes = 8, .destination_mac = {2, 0, 0, 0, 0, 9}, .source_mac = {2, 0, 0, 0, 0, 1},
        .source_ip = {10, 0, 0, 1}, .destination_ip = {10, 0, 0, 9}, .dscp = 24, .ecn = 2, .ttl = 64,
        .opcode = 1, .payload = payload, .payload_bytes = sizeof(payload)};
    frame.quanta[0] = 100;
    frame.quanta[3] = 65535;
    size_t length;
    MUST(unpause_frame_build(&frame, bytes, sizeof(bytes), &length));
    if (kind > UNPAUSE_FRAME_KIND_PFC) MUST(unpause_frame_mark_ce(bytes, length));
    unpause_frame back;
    MUST(unpause_frame_parse(bytes, length, &back));
    printf("frame %u: kind %u ecn %u rec_rate %u psn %u msn %u classes %u quanta %u %u payload %zu: ", kind,
           back.kind, back.ecn, back.rec_rate, back.psn, back.msn, back.classes, back.quanta[0], back.quanta[3],
           back.payload_bytes);
    for (size_t at = 0; at < length; at++) printf("%02x", bytes[at]);
    printf("\n");
  }
}

static void mechanisms(uint32_t kind, void (*run)(const char *)) {
  const char *name;
  for (uint32_t index = 0; (name = unpause_mechanism_name(kind, index)); index++) run(name);
}

/* Every parameter: what it is, and that what it is can be set. */
static void parameters(void) {
  for (uint32_t kind = 0; kind <= UNPAUSE_KIND_SPRAYED_WINDOW; kind++) {
    const char *name;
    for (uint32_t mechanism = 0; (name = unpause_mechanism_name(kind, mechanism)); mechanism++) {
      unpause_config config;
      unpause_parameter it;
      MUST(unpause_config_create(&config, kind, name));
      printf("parameters %u %s:", kind, name);
      for (uint32_t index = 0; unpause_config_parameter(&config, index, &it) == UNPAUSE_STATUS_OK; index++) {
        if (it.is_set) {
          printf(" %s=%llu[%s]", it.name, (unsigned long long)it.value, it.unit);
          MUST(unpause_config_set(&config, it.name, it.value));
        } else {
          printf(" %s[%s]", it.name, it.unit);
        }
        const char *choice;
        for (uint32_t at = 0; (choice = unpause_config_choice_name(&config, index, at)); at++) {
          printf("%s%s", at ? "|" : ":", choice);
        }
      }
      printf("\n");
    }
  }
}

int main(void) {
  mechanisms(UNPAUSE_KIND_CONGESTION_POINT, congestion_point);
  mechanisms(UNPAUSE_KIND_NOTIFICATION_POINT, notification_point);
  mechanisms(UNPAUSE_KIND_CONGESTION_CONTROL, congestion_control);
  pfc();
  mechanisms(UNPAUSE_KIND_SPRAYING, spraying);
  mechanisms(UNPAUSE_KIND_SPRAYED_WINDOW, nscc);
  frames();
  parameters();
  return 0;
}
