/* `swx`: runs programs on DPDK. Exit codes: 0, 1 for mismatches, 2 for anything that could not be done. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "equal.h"
#include "run.h"
#include "spec.h"

static const char USAGE[] =
    "swx equal PROGRAM ENTRIES SEQUENCE    a recorded sequence through the program; compare every mark\n"
    "swx frames SEQUENCE PCAP COUNT        its first packets as a file for source:FILE\n"
    "swx run PROGRAM ENTRIES OPTIONS       forward packets\n"
    "  --in pcap:FILE | ethdev:DEVICE | source:FILE\n"
    "                  a capture, in its own time; a device such as net_af_packet0,iface=eth1, in real "
    "time;\n"
    "                  packets behind a traffic manager's header, which no queue has to write\n"
    "  --out pcap:FILE | ethdev:DEVICE\n"
    "  --rate GBPS     of the link that drains the queue [1]\n"
    "  --packets N     that the queue holds [1000]\n"
    "  --port N        egress port, 0 to 127 [0]\n"
    "  --priority N    of the queue, 0 to 7 [3]\n"
    "  --seconds N     to run, of a device [10]\n";

static int number(const char *option, const char *text, uint64_t least, uint64_t most, uint64_t *value) {
    if (read_number(text, value) == 0 && *value >= least && *value <= most)
        return 0;
    fprintf(stderr, "error: %s is `%s`; expected %llu to %llu\n", option, text, (unsigned long long)least,
            (unsigned long long)most);
    return -1;
}

static int run_command(int count, char **words) {
    struct run_settings settings = {
        .queue = {.bits_per_second = 1000000000, .packets = 1000, .port = 0, .priority = 3}, .seconds = 10};
    for (int i = 4; i < count; i += 2) {
        const char *option = words[i], *value = i + 1 < count ? words[i + 1] : NULL;
        uint64_t read = 0;
        int result = 0;
        if (value == NULL) {
            fprintf(stderr, "error: `%s` without a value\n", option);
            return 2;
        }
        if (strcmp(option, "--in") == 0)
            settings.in = value;
        else if (strcmp(option, "--out") == 0)
            settings.out = value;
        else if (strcmp(option, "--rate") == 0) {
            result = number(option, value, 1, 800, &read);
            settings.queue.bits_per_second = read * 1000000000;
        } else if (strcmp(option, "--packets") == 0) {
            result = number(option, value, 1, 8000, &read);
            settings.queue.packets = (uint32_t)read;
        } else if (strcmp(option, "--port") == 0) {
            result = number(option, value, 0, 127, &read);
            settings.queue.port = (uint16_t)read;
        } else if (strcmp(option, "--priority") == 0) {
            result = number(option, value, 0, 7, &read);
            settings.queue.priority = (uint8_t)read;
        } else if (strcmp(option, "--seconds") == 0) {
            result = number(option, value, 1, 1000000, &read);
            settings.seconds = (unsigned)read;
        } else {
            fprintf(stderr, "error: no option `%s`\n%s", option, USAGE);
            return 2;
        }
        if (result < 0)
            return 2;
    }
    if (settings.in == NULL || settings.out == NULL) {
        fprintf(stderr, "error: expected --in and --out\n%s", USAGE);
        return 2;
    }
    return run(words[2], words[3], &settings);
}

int main(int count, char **words) {
    uint64_t packets;
    if (count == 5 && strcmp(words[1], "equal") == 0)
        return equal(words[2], words[3], words[4]);
    if (count == 5 && strcmp(words[1], "frames") == 0)
        return number("COUNT", words[4], 1, 100000000, &packets) < 0
                   ? 2
                   : frames(words[2], words[3], (unsigned)packets);
    if (count >= 4 && strcmp(words[1], "run") == 0)
        return run_command(count, words);
    if (count == 2 && strcmp(words[1], "--help") == 0) {
        fputs(USAGE, stdout);
        return 0;
    }
    fputs(USAGE, stderr);
    return 2;
}
