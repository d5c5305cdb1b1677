/* Frames, and what the traffic manager writes in front of them. */
#ifndef FRAME_H
#define FRAME_H

#include <stddef.h>
#include <stdint.h>

enum event { EVENT_DEPARTURE, EVENT_PAUSE, EVENT_RESUME };

/* What a packet of a queue met: header `tm` of the programs. */
struct passage {
    uint64_t enqueued_ns, dequeued_ns;
    uint32_t found_bytes, found_packets; /* Waiting when it came, without it. */
    uint32_t left_bytes, left_packets;   /* Waiting when it left, without it; of an event: waiting. */
    uint16_t port;
    uint8_t priority;
    uint8_t event;
};

#define PASSAGE_SIZE 36
#define ETHERNET_SIZE 14
#define IPV4_SIZE 20
/* A UDP datagram that bears its number, and a PFC frame. */
#define FRAME_LEAST 60

/* Writes the header, big-endian. */
void passage_write(const struct passage *passage, uint8_t *out);

/* A frame of `bytes` (FRAME_LEAST or more) with these two bits of ECN: Ethernet, IPv4, UDP, and `number`. */
void frame_data(uint8_t *out, uint32_t bytes, uint8_t ecn, uint64_t number);

/* The same of another protocol than IPv4, with bits where an IPv4 header would say ECT(0). */
void frame_other(uint8_t *out, uint32_t bytes, uint64_t number);

/* A PFC frame of FRAME_LEAST bytes for one priority, with `number` in its padding. */
void frame_pfc(uint8_t *out, uint8_t priority, uint16_t quanta, uint64_t number);

/* The number of a frame that one of these has made. */
uint64_t frame_number(const uint8_t *frame, uint32_t bytes);

/* Two bits of ECN of an IPv4 frame, or -1 if it is none. */
int frame_ecn(const uint8_t *frame, uint32_t bytes);

/* Whether the checksum of an IPv4 header is right. */
int frame_checksum_is_right(const uint8_t *frame);

/* If the frame is PFC's: for each priority the quanta of 512 bit times to pause for, or -1 if it is not about
 * it. */
int frame_read_pfc(const uint8_t *frame, uint32_t bytes, int quanta[8]);

#endif
