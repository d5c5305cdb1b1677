#include "frame.h"

#include <string.h>

static void put16(uint8_t *out, uint16_t value) {
    out[0] = (uint8_t)(value >> 8);
    out[1] = (uint8_t)value;
}

static void put32(uint8_t *out, uint32_t value) {
    put16(out, (uint16_t)(value >> 16));
    put16(out + 2, (uint16_t)value);
}

static void put64(uint8_t *out, uint64_t value) {
    put32(out, (uint32_t)(value >> 32));
    put32(out + 4, (uint32_t)value);
}

static uint16_t get16(const uint8_t *in) {
    return (uint16_t)(in[0] << 8 | in[1]);
}

void passage_write(const struct passage *passage, uint8_t *out) {
    put64(out, passage->enqueued_ns);
    put64(out + 8, passage->dequeued_ns);
    put32(out + 16, passage->found_bytes);
    put32(out + 20, passage->found_packets);
    put32(out + 24, passage->left_bytes);
    put32(out + 28, passage->left_packets);
    put16(out + 32, passage->port);
    out[34] = passage->priority;
    out[35] = passage->event;
}

/* The ones' complement sum of an IPv4 header: 0xFFFF if its checksum is right. */
static uint16_t sum(const uint8_t *header) {
    uint32_t total = 0;
    for (int i = 0; i < IPV4_SIZE; i += 2)
        total += get16(header + i);
    while (total >> 16 != 0)
        total = (total & 0xFFFF) + (total >> 16);
    return (uint16_t)total;
}

void frame_data(uint8_t *out, uint32_t bytes, uint8_t ecn, uint64_t number) {
    static const uint8_t ethernet[ETHERNET_SIZE] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00};
    uint8_t *ip = out + ETHERNET_SIZE, *udp = ip + IPV4_SIZE;
    memset(out, 0, bytes);
    memcpy(out, ethernet, sizeof ethernet);
    ip[0] = 0x45;
    ip[1] = (uint8_t)(number << 2) | ecn; /* Any DSCP. */
    put16(ip + 2, (uint16_t)(bytes - ETHERNET_SIZE));
    put16(ip + 4, (uint16_t)number);
    ip[8] = 64;
    ip[9] = 17;
    put32(ip + 12, 0x0A000001);
    put32(ip + 16, 0x0A000002);
    put16(ip + 10, (uint16_t)~sum(ip));
    put16(udp, 49152);
    put16(udp + 2, 4791);
    put16(udp + 4, (uint16_t)(bytes - ETHERNET_SIZE - IPV4_SIZE));
    put64(out + bytes - 8, number);
}

void frame_other(uint8_t *out, uint32_t bytes, uint64_t number) {
    frame_data(out, bytes, 2, number);
    put16(out + 12, 0x88B5); /* IEEE Std 802: for experiments. */
}

void frame_pfc(uint8_t *out, uint8_t priority, uint16_t quanta, uint64_t number) {
    static const uint8_t head[16] = {0x01, 0x80, 0xC2, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 0x08, 0x01, 0x01};
    memset(out, 0, FRAME_LEAST);
    memcpy(out, head, sizeof head);
    put16(out + 16, (uint16_t)(1u << priority));
    put16(out + 18 + 2 * priority, quanta);
    put64(out + FRAME_LEAST - 8, number);
}

uint64_t frame_number(const uint8_t *frame, uint32_t bytes) {
    uint64_t number = 0;
    for (uint32_t i = bytes - 8; i < bytes; i++)
        number = number << 8 | frame[i];
    return number;
}

int frame_ecn(const uint8_t *frame, uint32_t bytes) {
    if (bytes < ETHERNET_SIZE + IPV4_SIZE || get16(frame + 12) != 0x0800)
        return -1;
    return frame[ETHERNET_SIZE + 1] & 3;
}

int frame_checksum_is_right(const uint8_t *frame) {
    return sum(frame + ETHERNET_SIZE) == 0xFFFF;
}

int frame_read_pfc(const uint8_t *frame, uint32_t bytes, int quanta[8]) {
    if (bytes < 34 || get16(frame + 12) != 0x8808 || get16(frame + 14) != 0x0101)
        return 0;
    for (int priority = 0; priority < 8; priority++)
        quanta[priority] =
            (get16(frame + 16) >> priority & 1) != 0 ? (int)get16(frame + 18 + 2 * priority) : -1;
    return 1;
}
