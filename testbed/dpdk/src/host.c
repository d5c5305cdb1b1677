/* A host: a network card that sends flows as RoCEv2 by a reaction point's rate, answers those of others by a
 * notification point, and obeys PFC.
 *
 * Host n has the addresses 02:00:00:00:00:n and 10.0.0.n. Flow f of host n has queue pair 16 n + f at both
 * ends. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "link.h"

#define MOST_FLOWS 16
#define CONTROL_PRIORITY 7
#define PAYLOAD 1000

static uint64_t self, priority = 3;
static struct link *link_;
static unpause_pfc_egress egress;
static struct fifo control;
static uint64_t malformed, strangers;

/* A flow that this host sends. */
struct flow {
    uint8_t to;
    uint32_t qp, psn;
    uint64_t start_ps, left, sent, cnps;
    /* Start of its last packet, and when the rate allows the next. */
    uint64_t last_ps, next_ps;
    unpause_congestion_control law;
};
static struct flow flows[MOST_FLOWS];
static unsigned flow_count, turn;

/* A flow that this host receives. */
struct reception {
    uint8_t from;
    uint32_t qp;
    uint64_t packets, marked, bytes, gaps;
    uint32_t expected;
    unpause_notification_point point;
};
static struct reception receptions[MOST_FLOWS];
static unsigned reception_count;
static unpause_config receiver_config;

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* A frame from here to host `to`. */
static unpause_frame frame_to(uint32_t kind, uint8_t to, uint32_t qp) {
    unpause_frame frame = {
        .kind = kind, .destination_qp = qp, .source_port = (uint16_t)(49152 + qp), .ttl = 64};
    frame.destination_mac[0] = frame.source_mac[0] = 2;
    frame.destination_mac[5] = frame.destination_ip[3] = to;
    frame.source_mac[5] = frame.source_ip[3] = (uint8_t)self;
    frame.destination_ip[0] = frame.source_ip[0] = 10;
    return frame;
}

/* How long the wire takes for a data packet at this rate, rounded up. */
static uint64_t span(uint64_t rate_bps) {
    const uint64_t wire = 58 + PAYLOAD + FCS_BYTES + FRAMING_BYTES;
    return (wire * UINT64_C(8000000000000) + rate_bps - 1) / rate_bps;
}

static unpause_allowance ask(const struct flow *flow) {
    unpause_allowance allowance;
    must(unpause_congestion_control_allowance(&flow->law, &allowance), "allowance");
    return allowance;
}

/* The rate may have changed: when may the next packet start? */
static void repace(struct flow *flow, uint64_t now) {
    uint64_t next = flow->sent == 0 ? flow->start_ps : flow->last_ps + span(ask(flow).rate_bps);
    flow->next_ps = next > now ? next : now;
}

static void send_data(struct flow *flow, uint64_t now) {
    static const uint8_t payload[PAYLOAD];
    unpause_frame frame = frame_to(UNPAUSE_FRAME_KIND_DATA, flow->to, flow->qp);
    frame.dscp = (uint8_t)(priority << 3);
    frame.ecn = 2;
    frame.opcode = flow->psn == 0 ? 0x00 : flow->left == 1 ? 0x02 : 0x01;
    frame.psn = flow->psn++ & 0xffffff;
    frame.payload = payload;
    frame.payload_bytes = PAYLOAD;
    struct rte_mbuf *mbuf = frame_make(&frame);
    flow->last_ps = now;
    flow->sent++;
    flow->left--;
    must(unpause_congestion_control_on_sent(&flow->law, now, WIRE_BYTES(mbuf), flow->left > 0), "sent");
    repace(flow, now);
    link_send(link_, now, mbuf);
}

/* Sends what an idle link may send now. */
static void serve(uint64_t now) {
    unpause_pfc_egress_state state;
    if (link_->sending != NULL)
        return;
    if (fifo_count(&control) > 0) {
        link_send(link_, now, fifo_take(&control).frame);
        return;
    }
    must(unpause_pfc_egress_ask(&egress, &state), "egress");
    if (state.is_paused)
        return;
    for (unsigned i = 0; i < flow_count; i++) {
        struct flow *flow = &flows[(turn + i) % flow_count];
        if (flow->left > 0 && flow->next_ps <= now) {
            turn = (turn + i + 1) % flow_count;
            send_data(flow, now);
            return;
        }
    }
}

static void notify(struct reception *it, uint64_t now, const unpause_notification *what) {
    if (what->kind == UNPAUSE_NOTIFICATION_KIND_NONE)
        return;
    unpause_frame cnp = frame_to(UNPAUSE_FRAME_KIND_CNP, it->from, it->qp);
    cnp.dscp = CONTROL_PRIORITY << 3;
    cnp.rec_rate = what->rec_rate;
    /* PCN says "decrease" by the mark of the CNP itself. */
    cnp.ecn = what->kind == UNPAUSE_NOTIFICATION_KIND_PCN_DECREASE ? 3 : 0;
    cnp.becn = what->kind != UNPAUSE_NOTIFICATION_KIND_PCN_INCREASE;
    log_event(now, "cnp_sent", it->qp, what->kind, what->rec_rate, 0);
    if (!fifo_put(&control, frame_make(&cnp), now))
        give_up("no room for a CNP");
}

static struct reception *reception_of(const unpause_frame *frame) {
    for (unsigned i = 0; i < reception_count; i++)
        if (receptions[i].qp == frame->destination_qp)
            return &receptions[i];
    if (reception_count == MOST_FLOWS)
        return NULL;
    struct reception *it = &receptions[reception_count++];
    it->from = frame->source_mac[5];
    it->qp = frame->destination_qp;
    must(unpause_notification_point_create(&it->point, &receiver_config), "notification point");
    return it;
}

static void receive_data(uint64_t now, const unpause_frame *frame, uint32_t bytes) {
    unpause_notification notification;
    struct reception *it = reception_of(frame);
    if (it == NULL) {
        strangers++;
        return;
    }
    bool ce = frame->ecn == 3;
    it->packets++;
    it->marked += ce;
    it->bytes += frame->payload_bytes;
    it->gaps += frame->psn != it->expected;
    it->expected = (frame->psn + 1) & 0xffffff;
    log_event(now, "data", it->qp, bytes, ce, frame->psn);
    must(unpause_notification_point_on_data(&it->point, now, bytes, ce, &notification), "data");
    notify(it, now, &notification);
}

static void receive_cnp(uint64_t now, const unpause_frame *frame) {
    unpause_notification what = {.rec_rate = frame->rec_rate};
    what.kind = !frame->becn      ? UNPAUSE_NOTIFICATION_KIND_PCN_INCREASE
                : frame->ecn == 3 ? UNPAUSE_NOTIFICATION_KIND_PCN_DECREASE
                                  : UNPAUSE_NOTIFICATION_KIND_CNP;
    for (unsigned i = 0; i < flow_count; i++) {
        struct flow *flow = &flows[i];
        if (flow->qp != frame->destination_qp)
            continue;
        flow->cnps++;
        must(unpause_congestion_control_on_notification(&flow->law, now, &what), "CNP");
        repace(flow, now);
        log_event(now, "cnp", flow->qp, what.kind, what.rec_rate, ask(flow).rate_bps);
        return;
    }
    strangers++;
}

static void obey(uint64_t now, unpause_pfc_change change) {
    if (change != UNPAUSE_PFC_CHANGE_NONE)
        log_event(now, change == UNPAUSE_PFC_CHANGE_PAUSED ? "pause" : "resume", 0, 0, 0, 0);
}

static void arrive(uint64_t now, struct rte_mbuf *mbuf) {
    unpause_frame frame;
    unpause_pfc_change change;
    if (unpause_frame_parse(rte_pktmbuf_mtod(mbuf, const uint8_t *), mbuf->pkt_len, &frame) !=
        UNPAUSE_STATUS_OK) {
        malformed++;
    } else if (frame.kind == UNPAUSE_FRAME_KIND_PFC) {
        if (frame.classes >> priority & 1) {
            must(unpause_pfc_egress_on_frame(&egress, now, frame.quanta[priority], &change), "PFC");
            obey(now, change);
        }
    } else if (frame.kind == UNPAUSE_FRAME_KIND_CNP) {
        receive_cnp(now, &frame);
    } else if (frame.kind == UNPAUSE_FRAME_KIND_DATA) {
        receive_data(now, &frame, WIRE_BYTES(mbuf));
    } else {
        strangers++;
    }
    rte_pktmbuf_free(mbuf);
}

static uint64_t timer_of(const struct reception *it) {
    uint64_t timer;
    must(unpause_notification_point_next_timer(&it->point, &timer), "timer");
    return timer;
}

/* When something is due; flows count only while the link could send for them. */
static uint64_t due_time(void) {
    unpause_pfc_egress_state state;
    must(unpause_pfc_egress_ask(&egress, &state), "egress");
    uint64_t due = least(state.timer_ps, least(link_->sent_ps, fifo_due(&link_->arriving)));
    for (unsigned i = 0; i < reception_count; i++)
        due = least(due, timer_of(&receptions[i]));
    for (unsigned i = 0; i < flow_count; i++) {
        if (flows[i].left == 0)
            continue;
        due = least(due, ask(&flows[i]).timer_ps);
        if (link_->sending == NULL && !state.is_paused)
            due = least(due, flows[i].next_ps);
    }
    return due;
}

static void timers(uint64_t now) {
    unpause_pfc_change change;
    unpause_notification notification;
    must(unpause_pfc_egress_on_timer(&egress, now, &change), "timer");
    obey(now, change);
    for (unsigned i = 0; i < reception_count; i++) {
        while (timer_of(&receptions[i]) <= now) {
            must(unpause_notification_point_on_timer(&receptions[i].point, now, &notification), "timer");
            notify(&receptions[i], now, &notification);
        }
    }
    for (unsigned i = 0; i < flow_count; i++) {
        if (flows[i].left > 0 && ask(&flows[i]).timer_ps <= now) {
            must(unpause_congestion_control_on_timer(&flows[i].law, now), "timer");
            repace(&flows[i], now);
        }
    }
}

static void run(uint64_t end_ps) {
    for (uint64_t now = clock_ps(); now < end_ps; now = clock_ps()) {
        uint64_t due;
        link_poll(link_, now);
        while ((due = due_time()) <= now) {
            timers(due);
            if (link_->sent_ps <= due)
                link_sent(link_);
            while (fifo_due(&link_->arriving) <= due)
                arrive(due, fifo_take(&link_->arriving).frame);
            serve(due);
        }
        clock_sleep(due);
    }
}

static void report(void) {
    printf("{\"role\": \"host\", \"malformed\": %lu, \"strangers\": %lu, \"refused\": %lu, \"sent\": [",
           malformed, strangers, link_->refused);
    for (unsigned i = 0; i < flow_count; i++)
        printf("%s{\"qp\": %u, \"packets\": %lu, \"cnps\": %lu}", i ? ", " : "", flows[i].qp, flows[i].sent,
               flows[i].cnps);
    printf("], \"received\": [");
    for (unsigned i = 0; i < reception_count; i++)
        printf("%s{\"qp\": %u, \"packets\": %lu, \"marked\": %lu, \"payload_bytes\": %lu, \"gaps\": %lu}",
               i ? ", " : "", receptions[i].qp, receptions[i].packets, receptions[i].marked,
               receptions[i].bytes, receptions[i].gaps);
    printf("], ");
    clock_report(stdout);
    printf("}\n");
}

/* DESTINATION:START:PACKETS, the start in nanoseconds. */
static void flow_read(char *text) {
    if (flow_count == MOST_FLOWS)
        give_up("more than %d flows", MOST_FLOWS);
    struct flow *flow = &flows[flow_count];
    char *to = strsep(&text, ":"), *start = strsep(&text, ":");
    if (start == NULL || text == NULL)
        give_up("--flow is DESTINATION:START:PACKETS");
    flow->to = (uint8_t)number(to, "the destination");
    flow->start_ps = number(start, "the start") * 1000;
    flow->left = number(text, "the number of packets");
    flow_count++;
}

int main(int count, char **arguments) {
    static const struct option options[] = {{"interface", required_argument, NULL, 'i'},
                                            {"number", required_argument, NULL, 'n'},
                                            {"rate", required_argument, NULL, 'r'},
                                            {"delay", required_argument, NULL, 'd'},
                                            {"seconds", required_argument, NULL, 's'},
                                            {"priority", required_argument, NULL, 'p'},
                                            {"flow", required_argument, NULL, 'f'},
                                            {"notification-point", required_argument, NULL, 'N'},
                                            {"congestion-control", required_argument, NULL, 'C'},
                                            {"log", required_argument, NULL, 'l'},
                                            {"no-stamps", no_argument, NULL, 'S'},
                                            {NULL, 0, NULL, 0}};
    char *interface = "eth0";
    const char *receiver = "pcn", *sender = "pcn", *log = "host.csv";
    uint64_t rate = UNPAUSE_MBPS(200), delay = 0, seconds = 1;
    for (int option; (option = getopt_long(count, arguments, "", options, NULL)) != -1;) {
        switch (option) {
        case 'i':
            interface = optarg;
            break;
        case 'n':
            self = number(optarg, "--number");
            break;
        case 'r':
            rate = number(optarg, "--rate");
            break;
        case 'd':
            delay = number(optarg, "--delay");
            break;
        case 's':
            seconds = number(optarg, "--seconds");
            break;
        case 'p':
            priority = number(optarg, "--priority");
            break;
        case 'f':
            flow_read(optarg);
            break;
        case 'N':
            receiver = optarg;
            break;
        case 'C':
            sender = optarg;
            break;
        case 'l':
            log = optarg;
            break;
        case 'S':
            link_stamps = false;
            break;
        default:
            return 1;
        }
    }
    if (rate == 0 || priority >= CONTROL_PRIORITY || self == 0 || self > 15)
        give_up("a rate above 0, a priority below %d and a number from 1 to 15 are expected",
                CONTROL_PRIORITY);
    testbed_start("unpause-host", &interface, 1);
    log_open(log);
    unpause_config config;
    config_read(&receiver_config, UNPAUSE_KIND_NOTIFICATION_POINT, receiver);
    config_read(&config, UNPAUSE_KIND_CONGESTION_CONTROL, sender);
    link_ = link_open(interface, rate, delay);
    must(unpause_pfc_egress_create(&egress, rate), "egress");
    for (unsigned i = 0; i < flow_count; i++) {
        flows[i].qp = (uint32_t)(16 * self + i);
        flows[i].next_ps = flows[i].start_ps;
        must(unpause_congestion_control_create(&flows[i].law, &config, rate, PAYLOAD + 82, UNPAUSE_NO_WINDOW,
                                               i),
             "congestion control");
    }
    clock_start();
    run(seconds * UINT64_C(1000000000000));
    log_write();
    report();
    return 0;
}
