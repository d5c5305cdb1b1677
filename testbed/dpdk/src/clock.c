/* Time, lateness, and the log. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include "link.h"

/* Devices are looked at so often: it adds to a delay, which is therefore long beside it. With time stamps it
 * adds nothing, and what is due may wait, too; real-time threads that look more often would be stopped for
 * using up the processor. */
#define POLL_NS 50000
#define STAMPED_POLL_NS 500000
/* Lateness by microsecond; the last counts all that is more. */
#define LATE_SIZE 100000

static uint64_t epoch_ns;
static uint32_t late[LATE_SIZE];
static uint64_t late_count, overdue;

static uint64_t monotonic_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void clock_start(void) {
    char line[64];
    struct sched_param priority = {.sched_priority = 10};
    /* Without them it runs, and says how late it was. */
    if (sched_setscheduler(0, SCHED_FIFO, &priority) != 0)
        fprintf(stderr, "note: no real-time priority\n");
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        fprintf(stderr, "note: memory is not locked\n");
    prctl(PR_SET_TIMERSLACK, 1000);
    puts("ready");
    fflush(stdout);
    if (fgets(line, sizeof line, stdin) == NULL)
        give_up("no start on the standard input");
    for (char *at = line; *at != '\0'; at++)
        if (*at == '\n')
            *at = '\0';
    epoch_ns = number(line, "the start");
    while (monotonic_ns() < epoch_ns) {
        struct timespec until = {(time_t)(epoch_ns / 1000000000), (long)(epoch_ns % 1000000000)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    }
}

uint64_t clock_ps(void) {
    return (monotonic_ns() - epoch_ns) * 1000;
}

void clock_sleep(uint64_t due_ps) {
    uint64_t now = monotonic_ns(), until = now + (link_stamps ? STAMPED_POLL_NS : POLL_NS);
    uint64_t due = epoch_ns + due_ps / 1000;
    if (!link_stamps && due_ps != UNPAUSE_NEVER && due < until)
        until = due;
    if (until <= now)
        return;
    struct timespec at = {(time_t)(until / 1000000000), (long)(until % 1000000000)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

void clock_late(uint64_t due_ps) {
    uint64_t now = clock_ps(), us = now > due_ps ? (now - due_ps) / 1000000 : 0;
    late[us < LATE_SIZE ? us : LATE_SIZE - 1]++;
    late_count++;
}

void clock_overdue(void) {
    overdue++;
}

static uint64_t late_us(uint64_t permille) {
    uint64_t left = late_count * permille / 1000;
    for (uint64_t us = 0; us < LATE_SIZE; us++) {
        if (late[us] > 0 && left <= late[us])
            return us;
        left -= late[us];
    }
    return 0;
}

void clock_report(FILE *out) {
    fprintf(out,
            "\"late_p50_us\": %lu, \"late_p99_us\": %lu, \"late_p999_us\": %lu, \"late_max_us\": %lu, "
            "\"overdue\": %lu",
            late_us(500), late_us(990), late_us(999), late_us(1000), overdue);
}

struct event {
    uint64_t time_ps, a, b, c;
    const char *event;
    uint32_t id;
};

#define MOST_EVENTS 1000000
static struct event *events;
static size_t event_count, events_lost;
static const char *log_file;

void log_open(const char *file) {
    log_file = file;
    events = malloc(MOST_EVENTS * sizeof *events);
    if (events == NULL)
        give_up("no room for %d events", MOST_EVENTS);
}

void log_event(uint64_t time_ps, const char *event, uint32_t id, uint64_t a, uint64_t b, uint64_t c) {
    if (event_count == MOST_EVENTS) {
        events_lost++;
        return;
    }
    events[event_count++] = (struct event){time_ps, a, b, c, event, id};
}

void log_write(void) {
    FILE *out = fopen(log_file, "w");
    if (out == NULL)
        give_up("`%s` cannot be written", log_file);
    fputs("time_ps,event,id,a,b,c\n", out);
    for (size_t i = 0; i < event_count; i++) {
        const struct event *it = &events[i];
        fprintf(out, "%lu,%s,%u,%lu,%lu,%lu\n", it->time_ps, it->event, it->id, it->a, it->b, it->c);
    }
    if (fclose(out) != 0)
        give_up("`%s` cannot be written", log_file);
    if (events_lost > 0)
        give_up("%zu events had no room in the log", events_lost);
}
