#include "entries.h"

#include <stdlib.h>
#include <string.h>

#define ENTRIES_MAX (1u << 20)
#define WORDS_MAX 64

struct words {
    char *words[WORDS_MAX];
    unsigned count;
};

static int split(struct words *out, char *text, unsigned line, struct mistake *mistake) {
    char *rest = text;
    out->count = 0;
    for (char *word; (word = strtok_r(NULL, " \t\r\v\f", &rest)) != NULL;) {
        if (word[0] == '#')
            break;
        if (out->count == WORDS_MAX)
            return fail(mistake, line, "more than %d words", WORDS_MAX);
        out->words[out->count++] = word;
    }
    return 0;
}

static int fits(const char *text, unsigned bits, const char *what, unsigned line, struct mistake *mistake) {
    uint64_t value;
    if (read_number(text, &value) < 0)
        return fail(mistake, line, "%s is `%s`; expected a number", what, text);
    if (bits < 64 && value >> bits != 0)
        return fail(mistake, line, "%s is %s; it has %u bits, so at most %llu", what, text, bits,
                    (1ull << bits) - 1);
    return 0;
}

/* Names and values of an action's arguments, in its order. */
static int check_words(const struct spec *spec, const struct action *action, char *const *words,
                       unsigned count, unsigned line, struct mistake *mistake) {
    const struct struct_type *type = action->arguments < 0 ? NULL : &spec->structs[action->arguments];
    unsigned expected = type == NULL ? 0 : type->field_count;
    for (unsigned i = 0; i < expected; i++) {
        if (2 * i + 1 >= count)
            return fail(mistake, line, "action `%s` lacks its argument `%s`", action->name,
                        type->fields[i].name);
        if (strcmp(words[2 * i], type->fields[i].name) != 0)
            return fail(mistake, line, "argument `%s` of action `%s`; expected `%s` here", words[2 * i],
                        action->name, type->fields[i].name);
        if (fits(words[2 * i + 1], type->fields[i].bits, words[2 * i], line, mistake) < 0)
            return -1;
    }
    if (count > 2 * expected)
        return fail(mistake, line, "`%s` after the arguments of action `%s`", words[2 * expected],
                    action->name);
    return 0;
}

int check_arguments(const struct spec *spec, const struct action *action, const char *text, unsigned line,
                    struct mistake *mistake) {
    char copy[INSTRUCTION_SIZE];
    struct words words;
    strcpy(copy, text);
    if (split(&words, copy, line, mistake) < 0)
        return -1;
    return check_words(spec, action, words.words, words.count, line, mistake);
}

static int parse_match(struct words *in, const struct spec *spec, const struct table *table,
                       struct entry *entry, struct mistake *mistake) {
    if (in->count < 3 || strcmp(in->words[2], "match") != 0)
        return fail(mistake, entry->line, "expected `table NAME match VALUES action NAME`");
    if (in->count < 3 + table->key_count)
        return fail(mistake, entry->line, "table `%s` has %u keys", table->name, table->key_count);
    if (table->key_count == 0)
        return fail(mistake, entry->line, "table `%s` has no key, so no entry but `default`", table->name);
    for (unsigned i = 0; i < table->key_count; i++) {
        const struct key *key = &table->keys[i];
        unsigned bits = spec_field_bits(spec, NULL, key->field);
        char *value = in->words[3 + i], *mask = strchr(value, '/');
        if (mask != NULL && key->match != MATCH_WILDCARD)
            return fail(mistake, entry->line, "a mask for `%s`, whose match is exact", key->field);
        if (mask != NULL)
            *mask = '\0';
        if (fits(value, bits, key->field, entry->line, mistake) < 0 ||
            (mask != NULL && fits(mask + 1, bits, "the mask", entry->line, mistake) < 0))
            return -1;
        if (mask != NULL)
            *mask = '/';
    }
    return 0;
}

/* action NAME ARGUMENTS, from word `first` on. */
static int parse_entry_action(struct words *in, unsigned first, const struct spec *spec,
                              const struct table *table, struct entry *entry, struct mistake *mistake) {
    int index, allowed = 0;
    if (in->count < first + 2 || strcmp(in->words[first], "action") != 0)
        return fail(mistake, entry->line, "expected `action NAME` in an entry of table `%s`", table->name);
    index = spec_action(spec, in->words[first + 1]);
    for (unsigned i = 0; i < table->action_count; i++)
        allowed |= table->actions[i] == index;
    if (!allowed)
        return fail(mistake, entry->line, "action `%s` is not among those of table `%s`",
                    in->words[first + 1], table->name);
    return check_words(spec, &spec->actions[index], in->words + first + 2, in->count - first - 2, entry->line,
                       mistake);
}

static int join(struct words *in, unsigned first, struct entry *entry, struct mistake *mistake) {
    size_t used = 0;
    for (unsigned i = first; i < in->count; i++) {
        size_t more = strlen(in->words[i]);
        if (used + more + 2 > sizeof entry->text)
            return fail(mistake, entry->line, "an entry of more than %zu characters", sizeof entry->text - 2);
        memcpy(entry->text + used, in->words[i], more);
        used += more;
        entry->text[used++] = ' ';
    }
    entry->text[used > 0 ? used - 1 : 0] = '\0';
    return 0;
}

static int parse_register_entry(struct words *in, const struct spec *spec, struct entry *entry,
                                struct mistake *mistake) {
    const struct register_array *array;
    if (in->count != 4)
        return fail(mistake, entry->line, "expected `register NAME INDEX VALUE`");
    entry->kind = ENTRY_REGISTER;
    entry->part = spec_register(spec, in->words[1]);
    if (entry->part < 0)
        return fail(mistake, entry->line, "no regarray `%s`", in->words[1]);
    array = &spec->registers[entry->part];
    if (read_number(in->words[2], &entry->index) < 0 || entry->index >= array->size)
        return fail(mistake, entry->line, "index `%s` of regarray `%s`; expected 0 to %u", in->words[2],
                    array->name, array->size - 1);
    if (read_number(in->words[3], &entry->value) < 0)
        return fail(mistake, entry->line, "`%s` is no number", in->words[3]);
    return 0;
}

static int parse_entry(struct words *in, const struct spec *spec, struct entry *entry,
                       struct mistake *mistake) {
    const struct table *table;
    unsigned action = 2;
    if (strcmp(in->words[0], "register") == 0)
        return parse_register_entry(in, spec, entry, mistake);
    if (strcmp(in->words[0], "table") != 0 && strcmp(in->words[0], "default") != 0)
        return fail(mistake, entry->line, "`%s`; expected `table`, `default` or `register`", in->words[0]);
    entry->kind = strcmp(in->words[0], "table") == 0 ? ENTRY_TABLE : ENTRY_DEFAULT;
    entry->part = in->count < 2 ? -1 : spec_table(spec, in->words[1]);
    if (entry->part < 0)
        return fail(mistake, entry->line, "no table `%s`", in->count < 2 ? "" : in->words[1]);
    table = &spec->tables[entry->part];
    if (entry->kind == ENTRY_TABLE) {
        if (parse_match(in, spec, table, entry, mistake) < 0)
            return -1;
        action = 3 + table->key_count;
    } else if (table->default_is_const)
        return fail(mistake, entry->line, "the default action of table `%s` is const", table->name);
    if (parse_entry_action(in, action, spec, table, entry, mistake) < 0)
        return -1;
    return join(in, 2, entry, mistake);
}

int entries_parse(struct entries *entries, const struct spec *spec, const char *text, size_t length,
                  struct mistake *mistake) {
    const char *end = text + length;
    unsigned line = 0;
    memset(entries, 0, sizeof *entries);
    while (text < end) {
        char buffer[1024];
        struct words words;
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t size = (size_t)((newline == NULL ? end : newline) - text);
        line++;
        if (size >= sizeof buffer || memchr(text, '\0', size) != NULL)
            return fail(mistake, line, "a line of %zu characters, or one of code 0", size);
        memcpy(buffer, text, size);
        buffer[size] = '\0';
        text = newline == NULL ? end : newline + 1;
        if (split(&words, buffer, line, mistake) < 0)
            return -1;
        if (words.count == 0)
            continue;
        if ((entries->count & (entries->count - 1)) == 0) {
            size_t room = entries->count == 0 ? 1 : 2 * (size_t)entries->count;
            struct entry *more =
                entries->count >= ENTRIES_MAX ? NULL : realloc(entries->entries, room * sizeof *more);
            if (more == NULL)
                return fail(mistake, line, "more than %u entries, or no memory left", ENTRIES_MAX);
            entries->entries = more;
        }
        struct entry *entry = &entries->entries[entries->count++];
        memset(entry, 0, sizeof *entry);
        entry->line = line;
        if (parse_entry(&words, spec, entry, mistake) < 0)
            return -1;
    }
    return 0;
}

void entries_free(struct entries *entries) {
    free(entries->entries);
    memset(entries, 0, sizeof *entries);
}
