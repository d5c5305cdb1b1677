/* From the text of a program to its parts. Line by line: each is a statement, or opens or closes a block. */
#include <stdlib.h>
#include <string.h>

#include "spec.h"

#define TOKENS_MAX 32
/* More than any program needs, and little enough that no text can take all memory. */
#define PARTS_MAX 4096

struct reader {
    const char *text, *end;
    unsigned line;
    char buffer[1024];
    char *tokens[TOKENS_MAX];
    unsigned count;
    struct mistake *mistake;
};

/* Room for one more of `count` parts, or NULL. The new one is zero. */
static void *grow(void **parts, unsigned *count, size_t size) {
    char *more;
    if (*count >= PARTS_MAX)
        return NULL;
    /* Room for a power of two, doubled when it is full. */
    if ((*count & (*count - 1)) == 0) {
        more = realloc(*parts, (*count == 0 ? 1 : 2 * (size_t)*count) * size);
        if (more == NULL)
            return NULL;
        *parts = more;
    }
    more = (char *)*parts + *count * size;
    memset(more, 0, size);
    *count += 1;
    return more;
}

#define GROW(parts, count) grow((void **)&(parts), &(count), sizeof *(parts))

/* Splits the next line that says something into words; 0: there is none, -1: it is wrong. */
static int next_line(struct reader *in) {
    while (in->text < in->end) {
        const char *end = memchr(in->text, '\n', (size_t)(in->end - in->text));
        size_t length = (size_t)((end == NULL ? in->end : end) - in->text);
        const char *line = in->text;
        in->text = end == NULL ? in->end : end + 1;
        in->line++;
        if (length >= sizeof in->buffer)
            return fail(in->mistake, in->line, "a line of %zu characters; at most %zu", length,
                        sizeof in->buffer - 1);
        if (memchr(line, '\0', length) != NULL)
            return fail(in->mistake, in->line, "a character of code 0");
        memcpy(in->buffer, line, length);
        in->buffer[length] = '\0';
        in->count = 0;
        char *rest = in->buffer;
        for (char *token; (token = strtok_r(NULL, " \t\r\v\f", &rest)) != NULL;) {
            if (token[0] == ';' || token[0] == '#' || strncmp(token, "//", 2) == 0)
                break;
            if (in->count == TOKENS_MAX)
                return fail(in->mistake, in->line, "more than %d words", TOKENS_MAX);
            in->tokens[in->count++] = token;
        }
        if (in->count > 0)
            return 1;
    }
    return 0;
}

/* The next line of a block that was opened in line `opened`; 0 at its end. */
static int next_in_block(struct reader *in, unsigned opened) {
    int found = next_line(in);
    if (found < 0)
        return -1;
    if (found == 0)
        return fail(in->mistake, opened, "a block that is not closed; expected `}` on a line of its own");
    if (strcmp(in->tokens[0], "}") == 0) {
        if (in->count > 1)
            return fail(in->mistake, in->line, "`%s` after `}`", in->tokens[1]);
        return 0;
    }
    return 1;
}

/* Checks that the line has `count` words and reads `form`. */
static int shape(struct reader *in, unsigned count, const char *form) {
    if (in->count == count)
        return 0;
    return fail(in->mistake, in->line, "%u words in `%s ...`; expected `%s`", in->count, in->tokens[0], form);
}

/* Checks that a word of the line is `expected`. */
static int word(struct reader *in, unsigned index, const char *expected) {
    if (strcmp(in->tokens[index], expected) == 0)
        return 0;
    return fail(in->mistake, in->line, "`%s`; expected `%s`", in->tokens[index], expected);
}

static int copy_name(struct reader *in, char *name, const char *token) {
    size_t length = strlen(token);
    if (length >= NAME_SIZE)
        return fail(in->mistake, in->line, "a name of %zu characters; at most %d", length, NAME_SIZE - 1);
    for (size_t i = 0; i < length; i++) {
        char c = token[i];
        int letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9'))
            return fail(in->mistake, in->line, "`%s` is no name; expected letters, digits and _", token);
    }
    memcpy(name, token, length + 1);
    return 0;
}

static int read_size(struct reader *in, const char *token, uint64_t least, uint64_t most, uint64_t *value) {
    if (read_number(token, value) < 0)
        return fail(in->mistake, in->line, "`%s` is no number", token);
    if (*value < least || *value > most)
        return fail(in->mistake, in->line, "%s; expected %llu to %llu", token, (unsigned long long)least,
                    (unsigned long long)most);
    return 0;
}

static int too_many(struct reader *in) {
    return fail(in->mistake, in->line, "more than %d of a kind, or no memory left", PARTS_MAX);
}

/* struct NAME { / bit<N> FIELD / } */
static int parse_struct(struct reader *in, struct spec *spec) {
    unsigned opened = in->line;
    int more;
    if (shape(in, 3, "struct NAME {") < 0 || word(in, 2, "{") < 0)
        return -1;
    struct struct_type *type = GROW(spec->structs, spec->struct_count);
    if (type == NULL)
        return too_many(in);
    type->line = opened;
    if (copy_name(in, type->name, in->tokens[1]) < 0)
        return -1;
    while ((more = next_in_block(in, opened)) > 0) {
        uint64_t bits;
        size_t length = strlen(in->tokens[0]);
        if (shape(in, 2, "bit<N> FIELD") < 0)
            return -1;
        if (strncmp(in->tokens[0], "bit<", 4) != 0 || in->tokens[0][length - 1] != '>')
            return fail(in->mistake, in->line, "`%s`; expected `bit<N>`", in->tokens[0]);
        in->tokens[0][length - 1] = '\0';
        if (read_size(in, in->tokens[0] + 4, 8, 64, &bits) < 0)
            return -1;
        if (bits % 8 != 0)
            return fail(in->mistake, in->line, "a field of %u bits; SWX has whole bytes only",
                        (unsigned)bits);
        struct field *field = GROW(type->fields, type->field_count);
        if (field == NULL)
            return too_many(in);
        field->bits = (unsigned)bits;
        if (copy_name(in, field->name, in->tokens[1]) < 0)
            return -1;
    }
    if (more == 0 && type->field_count == 0)
        return fail(in->mistake, opened, "struct `%s` has no field", type->name);
    return more;
}

static int find_struct(struct reader *in, const struct spec *spec, const char *name, int *index) {
    const char *near;
    *index = spec_struct(spec, name);
    if (*index >= 0)
        return 0;
    near = spec->struct_count == 0
               ? NULL
               : nearest(name, spec->structs[0].name, spec->struct_count, sizeof *spec->structs);
    return fail(in->mistake, in->line, "no struct `%s` above this line%s%s%s", name,
                near ? "; did you mean `" : "", near ? near : "", near ? "`?" : "");
}

/* header NAME instanceof STRUCT; metadata instanceof STRUCT */
static int parse_instance(struct reader *in, struct spec *spec) {
    if (strcmp(in->tokens[0], "metadata") == 0) {
        if (shape(in, 3, "metadata instanceof STRUCT") < 0 || word(in, 1, "instanceof") < 0)
            return -1;
        if (spec->metadata >= 0)
            return fail(in->mistake, in->line, "metadata for a second time");
        return find_struct(in, spec, in->tokens[2], &spec->metadata);
    }
    if (shape(in, 4, "header NAME instanceof STRUCT") < 0 || word(in, 2, "instanceof") < 0)
        return -1;
    struct header *header = GROW(spec->headers, spec->header_count);
    if (header == NULL)
        return too_many(in);
    header->line = in->line;
    if (copy_name(in, header->name, in->tokens[1]) < 0)
        return -1;
    return find_struct(in, spec, in->tokens[3], &header->type);
}

/* regarray NAME size N initval V */
static int parse_register(struct reader *in, struct spec *spec) {
    uint64_t size, initial;
    if (shape(in, 6, "regarray NAME size N initval V") < 0 || word(in, 2, "size") < 0 ||
        word(in, 4, "initval") < 0 || read_size(in, in->tokens[3], 1, 1u << 20, &size) < 0 ||
        read_size(in, in->tokens[5], 0, UINT64_MAX, &initial) < 0)
        return -1;
    if ((size & (size - 1)) != 0)
        return fail(in->mistake, in->line,
                    "a register array of %u; SWX masks the index, so its size must be a power of two",
                    (unsigned)size);
    struct register_array *array = GROW(spec->registers, spec->register_count);
    if (array == NULL)
        return too_many(in);
    array->line = in->line;
    array->size = (uint32_t)size;
    array->initial = initial;
    return copy_name(in, array->name, in->tokens[1]);
}

/* [LABEL :] OPERATION OPERANDS */
static int parse_instruction(struct reader *in, struct code *code) {
    unsigned first = 0;
    size_t length = 0;
    struct instruction *it = GROW(code->instructions, code->count);
    if (it == NULL)
        return too_many(in);
    it->line = in->line;
    if (in->count >= 2 && strcmp(in->tokens[1], ":") == 0) {
        if (copy_name(in, it->label, in->tokens[0]) < 0)
            return -1;
        first = 2;
    }
    if (first == in->count)
        return fail(in->mistake, in->line, "label `%s` without an instruction", it->label);
    if (strlen(in->tokens[first]) >= NAME_SIZE || in->count - first - 1 > OPERANDS_MAX)
        return fail(in->mistake, in->line, "no instruction of SWX");
    strcpy(it->operation, in->tokens[first]);
    for (unsigned i = first + 1; i < in->count; i++) {
        if (strlen(in->tokens[i]) >= OPERAND_SIZE)
            return fail(in->mistake, in->line, "an operand of more than %d characters", OPERAND_SIZE - 1);
        strcpy(it->operands[it->operand_count++], in->tokens[i]);
    }
    for (unsigned i = 0; i < in->count; i++) {
        size_t more = strlen(in->tokens[i]);
        if (length + more + 2 > sizeof it->text)
            return fail(in->mistake, in->line, "an instruction of more than %zu characters",
                        sizeof it->text - 2);
        memcpy(it->text + length, in->tokens[i], more);
        length += more;
        it->text[length++] = ' ';
    }
    it->text[length - 1] = '\0';
    return 0;
}

static int parse_code(struct reader *in, struct code *code, unsigned opened) {
    int more;
    while ((more = next_in_block(in, opened)) > 0)
        if (parse_instruction(in, code) < 0)
            return -1;
    if (more == 0 && code->count == 0)
        return fail(in->mistake, opened, "a block without instructions");
    return more;
}

/* action NAME args none { or action NAME args instanceof STRUCT { */
static int parse_action(struct reader *in, struct spec *spec) {
    unsigned opened = in->line;
    int has = in->count > 3 && strcmp(in->tokens[3], "instanceof") == 0;
    if (shape(in, has ? 6 : 5, has ? "action NAME args instanceof STRUCT {" : "action NAME args none {") <
            0 ||
        word(in, 2, "args") < 0 || word(in, in->count - 1, "{") < 0)
        return -1;
    struct action *action = GROW(spec->actions, spec->action_count);
    if (action == NULL)
        return too_many(in);
    action->line = opened;
    action->arguments = -1;
    if (copy_name(in, action->name, in->tokens[1]) < 0)
        return -1;
    if (has ? find_struct(in, spec, in->tokens[4], &action->arguments) < 0 : word(in, 3, "none") < 0)
        return -1;
    return parse_code(in, &action->code, opened);
}

static int find_action(struct reader *in, const struct spec *spec, const char *name) {
    int index = spec_action(spec, name);
    const char *near;
    if (index >= 0)
        return index;
    near = spec->action_count == 0
               ? NULL
               : nearest(name, spec->actions[0].name, spec->action_count, sizeof *spec->actions);
    return fail(in->mistake, in->line, "no action `%s` above this line%s%s%s", name,
                near ? "; did you mean `" : "", near ? near : "", near ? "`?" : "");
}

static int parse_keys(struct reader *in, struct table *table) {
    unsigned opened = in->line;
    int more;
    if (shape(in, 2, "key {") < 0 || word(in, 1, "{") < 0)
        return -1;
    while ((more = next_in_block(in, opened)) > 0) {
        if (shape(in, 2, "FIELD exact") < 0)
            return -1;
        struct key *key = GROW(table->keys, table->key_count);
        if (key == NULL)
            return too_many(in);
        key->line = in->line;
        if (strlen(in->tokens[0]) >= OPERAND_SIZE)
            return fail(in->mistake, in->line, "a field of more than %d characters", OPERAND_SIZE - 1);
        strcpy(key->field, in->tokens[0]);
        if (strcmp(in->tokens[1], "exact") == 0)
            key->match = MATCH_EXACT;
        else if (strcmp(in->tokens[1], "wildcard") == 0)
            key->match = MATCH_WILDCARD;
        else
            return fail(in->mistake, in->line, "match `%s`; expected `exact` or `wildcard`", in->tokens[1]);
    }
    return more;
}

static int parse_actions(struct reader *in, const struct spec *spec, struct table *table) {
    unsigned opened = in->line;
    int more;
    if (shape(in, 2, "actions {") < 0 || word(in, 1, "{") < 0)
        return -1;
    while ((more = next_in_block(in, opened)) > 0) {
        int action;
        if (shape(in, 1, "ACTION") < 0 || (action = find_action(in, spec, in->tokens[0])) < 0)
            return -1;
        int *place = GROW(table->actions, table->action_count);
        if (place == NULL)
            return too_many(in);
        *place = action;
    }
    return more;
}

/* default_action NAME args none [const] or default_action NAME args FIELD VALUE ... [const] */
static int parse_default(struct reader *in, const struct spec *spec, struct table *table) {
    unsigned last = in->count;
    if (in->count < 4)
        return shape(in, 4, "default_action NAME args none");
    if (word(in, 2, "args") < 0 || (table->default_action = find_action(in, spec, in->tokens[1])) < 0)
        return -1;
    if (strcmp(in->tokens[last - 1], "const") == 0) {
        table->default_is_const = 1;
        last--;
    }
    if (last == 4 && strcmp(in->tokens[3], "none") == 0)
        return 0;
    for (unsigned i = 3; i < last; i++) {
        size_t used = strlen(table->default_arguments);
        if (used + strlen(in->tokens[i]) + 2 > sizeof table->default_arguments)
            return fail(in->mistake, in->line, "arguments of more than %zu characters",
                        sizeof table->default_arguments - 2);
        snprintf(table->default_arguments + used, sizeof table->default_arguments - used, "%s%s",
                 used > 0 ? " " : "", in->tokens[i]);
    }
    return 0;
}

static int parse_table(struct reader *in, struct spec *spec) {
    unsigned opened = in->line;
    int more, result;
    uint64_t size;
    if (shape(in, 3, "table NAME {") < 0 || word(in, 2, "{") < 0)
        return -1;
    struct table *table = GROW(spec->tables, spec->table_count);
    if (table == NULL)
        return too_many(in);
    table->line = opened;
    table->default_action = -1;
    if (copy_name(in, table->name, in->tokens[1]) < 0)
        return -1;
    while ((more = next_in_block(in, opened)) > 0) {
        const char *what = in->tokens[0];
        if (strcmp(what, "key") == 0)
            result = parse_keys(in, table);
        else if (strcmp(what, "actions") == 0)
            result = parse_actions(in, spec, table);
        else if (strcmp(what, "default_action") == 0)
            result = parse_default(in, spec, table);
        else if (strcmp(what, "size") == 0) {
            result = shape(in, 2, "size N");
            if (result == 0 && (result = read_size(in, in->tokens[1], 1, 1u << 20, &size)) == 0)
                table->size = (uint32_t)size;
        } else
            result = fail(in->mistake, in->line,
                          "`%s` in a table; expected `key`, `actions`, `default_action` or `size`", what);
        if (result < 0)
            return -1;
    }
    return more;
}

static int parse_statement(struct reader *in, struct spec *spec) {
    static const char known[][16] = {"struct", "header", "metadata", "regarray", "action", "table", "apply"};
    const char *what = in->tokens[0], *near;
    if (strcmp(what, "struct") == 0)
        return parse_struct(in, spec);
    if (strcmp(what, "header") == 0 || strcmp(what, "metadata") == 0)
        return parse_instance(in, spec);
    if (strcmp(what, "regarray") == 0)
        return parse_register(in, spec);
    if (strcmp(what, "action") == 0)
        return parse_action(in, spec);
    if (strcmp(what, "table") == 0)
        return parse_table(in, spec);
    if (strcmp(what, "apply") == 0) {
        if (shape(in, 2, "apply {") < 0 || word(in, 1, "{") < 0)
            return -1;
        if (spec->apply_line > 0)
            return fail(in->mistake, in->line, "apply for a second time; the first is in line %u",
                        spec->apply_line);
        spec->apply_line = in->line;
        return parse_code(in, &spec->apply, in->line);
    }
    near = nearest(what, known[0], sizeof known / sizeof *known, sizeof *known);
    return fail(
        in->mistake, in->line,
        "`%s`; expected `struct`, `header`, `metadata`, `regarray`, `action`, `table` or `apply`%s%s%s", what,
        near ? "; did you mean `" : "", near ? near : "", near ? "`?" : "");
}

int spec_parse(struct spec *spec, const char *text, size_t length, struct mistake *mistake) {
    struct reader in = {.text = text, .end = text + length, .mistake = mistake};
    int more;
    memset(spec, 0, sizeof *spec);
    spec->metadata = -1;
    while ((more = next_line(&in)) > 0)
        if (parse_statement(&in, spec) < 0)
            return -1;
    return more;
}

static void free_code(struct code *code) {
    free(code->instructions);
}

void spec_free(struct spec *spec) {
    for (unsigned i = 0; i < spec->struct_count; i++)
        free(spec->structs[i].fields);
    for (unsigned i = 0; i < spec->action_count; i++)
        free_code(&spec->actions[i].code);
    for (unsigned i = 0; i < spec->table_count; i++) {
        free(spec->tables[i].keys);
        free(spec->tables[i].actions);
    }
    free(spec->structs);
    free(spec->headers);
    free(spec->actions);
    free(spec->tables);
    free(spec->registers);
    free_code(&spec->apply);
    memset(spec, 0, sizeof *spec);
}
