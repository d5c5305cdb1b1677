/* Mutates programs and entries at random and reads them: whatever the text, an answer and no crash. Built
 * with the sanitizers for addresses and undefined behaviour. `fuzz SECONDS SEED PROGRAM ENTRIES ...`; with
 * -DINSTALL what passes the checks is also given to SWX (which leaks a little for each program that it
 * takes). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "entries.h"
#include "spec.h"
#ifdef INSTALL
#include "device.h"
#endif

#define TEXT_MOST (64u << 10)

struct text {
    char bytes[TEXT_MOST];
    size_t length;
};

static uint64_t state;

/* SplitMix64. */
static uint64_t draw(uint64_t below) {
    uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (z ^ (z >> 31)) % below;
}

static int read_text(const char *path, struct text *text) {
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return -1;
    text->length = fread(text->bytes, 1, sizeof text->bytes, file);
    fclose(file);
    return 0;
}

/* Replaces `removed` bytes at `at` by others. */
static void splice(struct text *text, size_t at, size_t removed, const char *with, size_t length) {
    if (at + removed > text->length || text->length - removed + length > TEXT_MOST)
        return;
    memmove(text->bytes + at + length, text->bytes + at + removed, text->length - at - removed);
    memmove(text->bytes + at, with, length);
    text->length = text->length - removed + length;
}

/* Where a word begins, and its length. */
static size_t some_word(const struct text *text, size_t *length) {
    size_t at = draw(text->length), end;
    while (at > 0 && strchr(" \t\n", text->bytes[at - 1]) == NULL)
        at--;
    for (end = at; end < text->length && strchr(" \t\n", text->bytes[end]) == NULL;)
        end++;
    *length = end - at;
    return at;
}

static void mutate(struct text *text) {
    static const char *const words[] = {
        "{",     "}",     ":",     "h.",    "m.",     "t.",     "0",      "18446744073709551616",
        "0x",    "rx",    "tx",    "jmp",   "return", "bit<8>", "bit<0>", "bit<18446744073709551616>",
        "table", "apply", "regrd", "const", "h.tm",   "h.tm.",  "-1",     "010"};
    char copy[512];
    size_t length, other_length, at, other;
    const char *word;
    if (text->length == 0)
        return;
    at = some_word(text, &length);
    switch (draw(6)) {
    case 0: /* A byte. */
        text->bytes[draw(text->length)] = (char)draw(256);
        break;
    case 1: /* A word that means something. */
        word = words[draw(sizeof words / sizeof *words)];
        splice(text, at, length, word, strlen(word));
        break;
    case 2: /* Another word of the text. */
        other = some_word(text, &other_length);
        if (other_length < sizeof copy) {
            memcpy(copy, text->bytes + other, other_length);
            splice(text, at, length, copy, other_length);
        }
        break;
    case 3: /* Nothing in its place. */
        splice(text, at, draw(200) < 199 ? length : text->length - at, "", 0);
        break;
    case 4: /* A long word. */
        memset(copy, 'a', sizeof copy);
        splice(text, at, length, copy, 1 + draw(sizeof copy - 1));
        break;
    default: /* Some of the text for a second time. */
        length = draw(sizeof copy) < text->length - at ? draw(sizeof copy) : 0;
        if (at + length <= text->length) {
            memcpy(copy, text->bytes + at, length);
            splice(text, draw(text->length), 0, copy, length);
        }
    }
}

#ifdef INSTALL
static void install(const struct spec *spec, const struct entries *entries) {
    struct pipeline pipeline;
    struct mistake mistake;
    if (pipeline_create(&pipeline, "fuzz", spec, &mistake) == 0 &&
        device_ring_in(&pipeline, 0, "in") != NULL && device_ring_out(&pipeline, 0, "out") != NULL)
        (void)pipeline_start(&pipeline, spec, entries, &mistake);
    pipeline_free(&pipeline);
    rte_ring_free(rte_ring_lookup("in"));
    rte_ring_free(rte_ring_lookup("out"));
}
#endif

/* Whether the program passed, and its entries too. */
static int try(const struct text *program, const struct text *control, uint64_t passed[2]) {
    static struct mistake mistake;
    struct spec spec;
    mistake.text[0] = '\0';
    int result = spec_parse(&spec, program->bytes, program->length, &mistake);
    result = result == 0 ? spec_check(&spec, &mistake) : result;
    if (result == 0) {
        struct entries entries;
        passed[0]++;
        result = entries_parse(&entries, &spec, control->bytes, control->length, &mistake);
        passed[1] += result == 0;
#ifdef INSTALL
        if (result == 0)
            install(&spec, &entries);
#endif
        entries_free(&entries);
    }
    spec_free(&spec);
    /* A refusal says something. */
    return result == 0 || mistake.text[0] != '\0';
}

int main(int count, char **words) {
    static struct text originals[16], program, control;
    uint64_t tries = 0, passed[2] = {0, 0};
    unsigned texts = count > 3 ? (unsigned)count - 3 : 0;
    time_t end;
    if (texts < 2 || texts > 16 || texts % 2 != 0) {
        fputs("fuzz SECONDS SEED PROGRAM ENTRIES [PROGRAM ENTRIES ...]\n", stderr);
        return 2;
    }
    for (unsigned i = 0; i < texts; i++)
        if (read_text(words[i + 3], &originals[i]) < 0) {
            fprintf(stderr, "error: cannot read %s\n", words[i + 3]);
            return 2;
        }
#ifdef INSTALL
    if (device_start(NULL) < 0)
        return 2;
#endif
    state = strtoull(words[2], NULL, 10);
    for (end = time(NULL) + atoi(words[1]); time(NULL) < end; tries++) {
        unsigned pair = (unsigned)draw(texts / 2);
        program = originals[2 * pair];
        control = originals[2 * pair + 1];
        for (uint64_t i = draw(4); i > 0; i--)
            mutate(&program);
        for (uint64_t i = draw(3); i > 0; i--)
            mutate(&control);
        if (!try(&program, &control, passed)) {
            fprintf(stderr, "error: a refusal without a word, seed %s, try %llu\n", words[2],
                    (unsigned long long)tries);
            return 1;
        }
    }
    printf("%llu texts: %llu programs and %llu entries right\n", (unsigned long long)tries,
           (unsigned long long)passed[0], (unsigned long long)passed[1]);
    return 0;
}
