/* A switch: a port for each interface, strict priority between control and data, PFC by what each ingress
 * port holds, and a congestion point on each data queue.
 *
 * Host n has the address 02:00:00:00:00:n; the n-th --route says by which port it is reached. */
#include <getopt.h>
#include <rte_eal.h>
#include <stdlib.h>
#include <string.h>

#include "link.h"
#include "pipeline.h"

#define MOST_PORTS 16

/* Data of this priority are lossless; control frames are above it and never paused. */
static uint64_t priority = 3;
static uint64_t xoff_bytes = 512000, xon_bytes, buffer_bytes = 8000000;

struct port {
    struct link *link;
    struct fifo control, data;
    unpause_congestion_point point;
    unpause_pfc_egress egress;
    unpause_pfc_ingress ingress;
    /* A PFC frame that waits for the link to be idle, which has precedence. */
    bool pfc_waits;
    uint16_t pfc_quanta;
    uint64_t peak_bytes, marked, pauses;
};

/* Marks come from a pipeline's program, not from congestion points. */
static bool piped;

static struct port ports[MOST_PORTS];
static unsigned port_count;
/* The port of host n, from 1. */
static uint64_t routes[MOST_PORTS + 1];
static unsigned route_count;
static uint64_t buffered_bytes, dropped, malformed;

static unpause_queue queue_of(const struct fifo *fifo) {
    return (unpause_queue){.bytes = fifo->bytes, .packets = fifo_count(fifo)};
}

/* What an ingress asks its peer for goes out of the same port. */
static void pfc_ask(struct port *port, uint64_t now, unpause_pfc_action action) {
    unpause_pfc_ingress_state state;
    if (action == UNPAUSE_PFC_ACTION_NONE)
        return;
    must(unpause_pfc_ingress_ask(&port->ingress, &state), "ingress");
    bool xoff = action == UNPAUSE_PFC_ACTION_XOFF;
    port->pfc_waits = true;
    port->pfc_quanta = xoff ? state.pause_quanta : 0;
    port->pauses += xoff;
    log_event(now, xoff ? "xoff" : "xon", (uint32_t)(port - ports), state.bytes, 0, 0);
}

/* What a traffic manager knows of a packet that leaves at `now`, or of a queue whose PAUSE changes. */
static struct passage passage_of(const struct port *port, uint64_t now, const struct waiting *packet) {
    unpause_queue queue = queue_of(&port->data);
    struct passage passage = {.enqueued_ns = now / 1000,
                              .dequeued_ns = now / 1000,
                              .left_bytes = (uint32_t)queue.bytes,
                              .left_packets = queue.packets,
                              .port = (uint16_t)(port - ports),
                              .priority = (uint8_t)priority};
    if (packet != NULL) {
        passage.enqueued_ns = packet->time_ps / 1000;
        passage.found_bytes = (uint32_t)packet->found_bytes;
        passage.found_packets = packet->found_packets;
    }
    return passage;
}

static void pfc_obey(struct port *port, uint64_t now, unpause_pfc_change change) {
    if (change == UNPAUSE_PFC_CHANGE_NONE)
        return;
    bool pause = change == UNPAUSE_PFC_CHANGE_PAUSED;
    unpause_queue queue = queue_of(&port->data);
    log_event(now, pause ? "pause" : "resume", (uint32_t)(port - ports), queue.packets, queue.bytes, 0);
    if (piped) {
        struct passage passage = passage_of(port, now, NULL);
        passage.event = pause ? EVENT_PAUSE : EVENT_RESUME;
        pipeline_tell(&passage);
    } else if (pause) {
        must(unpause_congestion_point_on_pause(&port->point, now), "pause");
    } else {
        must(unpause_congestion_point_on_resume(&port->point, now, queue), "resume");
    }
}

static void mark(struct rte_mbuf *frame, const unpause_verdict *verdict) {
    if (verdict->kind == UNPAUSE_VERDICT_KIND_MARK_CE)
        must(unpause_frame_mark_ce(rte_pktmbuf_mtod(frame, uint8_t *), frame->pkt_len), "mark");
}

static unpause_packet packet_of(const struct waiting *it) {
    return (unpause_packet){.enqueued_at_ps = it->time_ps, .bytes = FRAME_BYTES(it->frame), .ect = it->ect};
}

static void enqueue(struct port *in, struct port *out, uint64_t now, struct rte_mbuf *frame, bool ect) {
    unpause_pfc_action action;
    unpause_verdict verdict = {.kind = UNPAUSE_VERDICT_KIND_PASS};
    uint32_t bytes = FRAME_BYTES(frame);
    if (buffered_bytes + bytes > buffer_bytes || !fifo_put(&out->data, frame, now)) {
        dropped++;
        rte_pktmbuf_free(frame);
        return;
    }
    fifo_last(&out->data)->from = (uint32_t)(in - ports);
    fifo_last(&out->data)->ect = ect;
    buffered_bytes += bytes;
    if (out->data.bytes > out->peak_bytes)
        out->peak_bytes = out->data.bytes;
    must(unpause_pfc_ingress_on_admit(&in->ingress, now, bytes, xoff_bytes, &action), "admit");
    pfc_ask(in, now, action);
    if (!piped) {
        unpause_packet packet = packet_of(fifo_last(&out->data));
        unpause_queue queue = queue_of(&out->data);
        must(unpause_congestion_point_on_enqueue(&out->point, now, &packet, queue, &verdict), "enqueue");
        mark(frame, &verdict);
    }
    log_event(now, "enqueue", (uint32_t)(out - ports), bytes, (uint64_t)(in - ports), verdict.kind);
}

static void arrive(struct port *port, uint64_t now, struct rte_mbuf *mbuf) {
    unpause_frame frame;
    const uint8_t *bytes = rte_pktmbuf_mtod(mbuf, const uint8_t *);
    if (unpause_frame_parse(bytes, mbuf->pkt_len, &frame) != UNPAUSE_STATUS_OK) {
        malformed++;
        rte_pktmbuf_free(mbuf);
        return;
    }
    if (frame.kind == UNPAUSE_FRAME_KIND_PFC || frame.kind == UNPAUSE_FRAME_KIND_PAUSE) {
        if (frame.kind == UNPAUSE_FRAME_KIND_PFC && (frame.classes >> priority & 1)) {
            unpause_pfc_change change;
            must(unpause_pfc_egress_on_frame(&port->egress, now, frame.quanta[priority], &change), "PFC");
            pfc_obey(port, now, change);
        }
        rte_pktmbuf_free(mbuf);
        return;
    }
    unsigned to = frame.destination_mac[5];
    if (to == 0 || to > route_count) {
        malformed++;
        rte_pktmbuf_free(mbuf);
    } else if (frame.kind == UNPAUSE_FRAME_KIND_DATA && frame.dscp >> 3 == priority) {
        enqueue(port, &ports[routes[to]], now, mbuf, frame.ecn != 0);
    } else if (!fifo_put(&ports[routes[to]].control, mbuf, now)) {
        dropped++;
        rte_pktmbuf_free(mbuf);
    }
}

/* A program leaves a packet as it is that bears CE already: what it decided cannot be seen. */
#define UNSEEN 2

/* Marks a packet that leaves, or not; gives what is to be sent. */
static struct rte_mbuf *marked(struct port *port, uint64_t now, const struct waiting *it) {
    unpause_verdict verdict = {.kind = UNPAUSE_VERDICT_KIND_PASS};
    struct rte_mbuf *frame = it->frame;
    uint32_t length = frame->pkt_len;
    int before = frame_ecn(rte_pktmbuf_mtod(frame, uint8_t *), length);
    if (piped) {
        struct passage passage = passage_of(port, now, it);
        frame = pipeline_pass(frame, &passage);
        if (frame->pkt_len != length)
            give_up("a packet has another length after the pipeline");
    } else {
        unpause_packet packet = packet_of(it);
        unpause_queue queue = queue_of(&port->data);
        must(unpause_congestion_point_on_dequeue(&port->point, now, &packet, queue, &verdict), "dequeue");
        mark(frame, &verdict);
    }
    bool set = frame_ecn(rte_pktmbuf_mtod(frame, uint8_t *), length) != before;
    uint64_t decision = !piped ? verdict.kind : before == 3 ? UNSEEN : set;
    port->marked += set;
    log_event(now, "dequeue", (uint32_t)(port - ports), FRAME_BYTES(frame), it->from, decision);
    return frame;
}

static void send_data(struct port *port, uint64_t now) {
    unpause_pfc_action action;
    struct waiting head = fifo_take(&port->data);
    struct port *from = &ports[head.from];
    struct rte_mbuf *frame = marked(port, now, &head);
    uint32_t bytes = FRAME_BYTES(frame);
    buffered_bytes -= bytes;
    must(unpause_pfc_ingress_on_release(&from->ingress, now, bytes, xon_bytes, &action), "release");
    pfc_ask(from, now, action);
    link_send(port->link, now, frame);
}

/* Sends what an idle link may send now. */
static void serve(struct port *port, uint64_t now) {
    unpause_pfc_egress_state egress;
    if (port->link->sending != NULL)
        return;
    if (port->pfc_waits) {
        unpause_frame pfc = {.kind = UNPAUSE_FRAME_KIND_PFC, .classes = (uint8_t)(1 << priority)};
        pfc.quanta[priority] = port->pfc_quanta;
        pfc.source_mac[0] = 2;
        pfc.source_mac[1] = 1; /* the switch's own, by port */
        pfc.source_mac[5] = (uint8_t)(port - ports + 1);
        port->pfc_waits = false;
        link_send(port->link, now, frame_make(&pfc));
        return;
    }
    if (fifo_count(&port->control) > 0) {
        link_send(port->link, now, fifo_take(&port->control).frame);
        return;
    }
    must(unpause_pfc_egress_ask(&port->egress, &egress), "egress");
    if (fifo_count(&port->data) > 0 && !egress.is_paused)
        send_data(port, now);
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* When something is due at a port. */
static uint64_t port_due(const struct port *port) {
    unpause_pfc_egress_state egress;
    unpause_pfc_ingress_state ingress;
    must(unpause_pfc_egress_ask(&port->egress, &egress), "egress");
    must(unpause_pfc_ingress_ask(&port->ingress, &ingress), "ingress");
    uint64_t timers = least(egress.timer_ps, ingress.timer_ps);
    return least(timers, least(port->link->sent_ps, fifo_due(&port->link->arriving)));
}

/* Does what is due at a port at exactly this time. */
static void port_run(struct port *port, uint64_t now) {
    unpause_pfc_change change;
    unpause_pfc_action action;
    must(unpause_pfc_egress_on_timer(&port->egress, now, &change), "timer");
    pfc_obey(port, now, change);
    must(unpause_pfc_ingress_on_timer(&port->ingress, now, &action), "timer");
    pfc_ask(port, now, action);
    if (port->link->sent_ps <= now)
        link_sent(port->link);
    while (fifo_due(&port->link->arriving) <= now)
        arrive(port, now, fifo_take(&port->link->arriving).frame);
}

static void run(uint64_t end_ps) {
    for (uint64_t now = clock_ps(); now < end_ps; now = clock_ps()) {
        uint64_t due;
        for (unsigned i = 0; i < port_count; i++)
            link_poll(ports[i].link, now);
        for (;;) {
            due = UNPAUSE_NEVER;
            for (unsigned i = 0; i < port_count; i++)
                due = least(due, port_due(&ports[i]));
            if (due > now)
                break;
            for (unsigned i = 0; i < port_count; i++)
                port_run(&ports[i], due);
            /* Twice: what leaves by one port may have another send XON. */
            for (unsigned i = 0; i < 2 * port_count; i++)
                serve(&ports[i % port_count], due);
        }
        clock_sleep(due);
    }
}

static void report(void) {
    printf("{\"role\": \"switch\", \"dropped\": %lu, \"malformed\": %lu, \"ports\": [", dropped, malformed);
    for (unsigned i = 0; i < port_count; i++) {
        const struct port *it = &ports[i];
        printf("%s{\"received\": %lu, \"transmitted\": %lu, \"refused\": %lu, \"peak_bytes\": %lu, "
               "\"marked\": %lu, "
               "\"pauses\": %lu}",
               i ? ", " : "", it->link->received, it->link->transmitted, it->link->refused, it->peak_bytes,
               it->marked, it->pauses);
    }
    printf("], ");
    clock_report(stdout);
    printf("}\n");
}

int main(int count, char **arguments) {
    static const struct option options[] = {{"interface", required_argument, NULL, 'i'},
                                            {"rate", required_argument, NULL, 'r'},
                                            {"delay", required_argument, NULL, 'd'},
                                            {"seconds", required_argument, NULL, 's'},
                                            {"route", required_argument, NULL, 'R'},
                                            {"xoff", required_argument, NULL, 'x'},
                                            {"xon", required_argument, NULL, 'X'},
                                            {"priority", required_argument, NULL, 'p'},
                                            {"congestion-point", required_argument, NULL, 'c'},
                                            {"pipeline", required_argument, NULL, 'P'},
                                            {"log", required_argument, NULL, 'l'},
                                            {"no-stamps", no_argument, NULL, 'S'},
                                            {NULL, 0, NULL, 0}};
    char *interfaces[MOST_PORTS];
    const char *point = "np-ecn", *program = NULL, *log = "switch.csv";
    uint64_t rate = UNPAUSE_MBPS(200), delay = 0, seconds = 1;
    for (int option; (option = getopt_long(count, arguments, "", options, NULL)) != -1;) {
        switch (option) {
        case 'i':
            if (port_count == MOST_PORTS)
                give_up("more than %d interfaces", MOST_PORTS);
            interfaces[port_count++] = optarg;
            break;
        case 'R':
            if (route_count == MOST_PORTS)
                give_up("more than %d routes", MOST_PORTS);
            routes[++route_count] = number(optarg, "--route");
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
        case 'x':
            xoff_bytes = number(optarg, "--xoff");
            break;
        case 'X':
            xon_bytes = number(optarg, "--xon");
            break;
        case 'p':
            priority = number(optarg, "--priority");
            break;
        case 'c':
            point = optarg;
            break;
        case 'P':
            program = optarg;
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
    if (rate == 0 || priority > 6 || xon_bytes > xoff_bytes)
        give_up("a rate above 0, a priority below 7 and XON up to XOFF are expected");
    for (unsigned n = 1; n <= route_count; n++)
        if (routes[n] >= port_count)
            give_up("host %u is at port %lu, expected a port below %u", n, routes[n], port_count);
    testbed_start("unpause-switch", interfaces, port_count);
    log_open(log);
    unpause_config config, pfc;
    config_read(&config, UNPAUSE_KIND_CONGESTION_POINT, point);
    must(unpause_config_create(&pfc, UNPAUSE_KIND_FLOW_CONTROL, "pfc"), "pfc");
    for (unsigned i = 0; i < port_count; i++) {
        ports[i].link = link_open(interfaces[i], rate, delay);
        must(unpause_congestion_point_create(&ports[i].point, &config, i), "congestion point");
        must(unpause_pfc_egress_create(&ports[i].egress, rate), "egress");
        must(unpause_pfc_ingress_create(&ports[i].ingress, &pfc, rate), "ingress");
    }
    if (program != NULL) {
        pipeline_open(program);
        piped = true;
    }
    clock_start();
    run(seconds * UINT64_C(1000000000000));
    log_write();
    report();
    return 0;
}
