/* Whether the parts of a program fit together. SWX's own answer to a wrong one is a number without a line. */
#include <stdlib.h>
#include <string.h>

#include "instructions.h"
#include "spec.h"

struct checker {
    const struct spec *spec;
    const struct action *action; /* NULL: the apply block. */
    const struct code *code;
    struct mistake *mistake;
};

/* That no two of `count` parts have one name. Each begins with its name, followed by its line. */
static int unique(const char *kind, const void *parts, unsigned count, size_t stride,
                  struct mistake *mistake) {
    for (unsigned i = 0; i < count; i++)
        for (unsigned j = 0; j < i; j++) {
            const char *name = (const char *)parts + i * stride;
            const char *other = (const char *)parts + j * stride;
            unsigned line;
            if (strcmp(name, other) != 0)
                continue;
            memcpy(&line, name + NAME_SIZE, sizeof line);
            return fail(mistake, line, "%s `%s` for a second time", kind, name);
        }
    return 0;
}

static int check_names(const struct spec *spec, struct mistake *mistake) {
    if (unique("struct", spec->structs, spec->struct_count, sizeof *spec->structs, mistake) < 0 ||
        unique("header", spec->headers, spec->header_count, sizeof *spec->headers, mistake) < 0 ||
        unique("action", spec->actions, spec->action_count, sizeof *spec->actions, mistake) < 0 ||
        unique("table", spec->tables, spec->table_count, sizeof *spec->tables, mistake) < 0 ||
        unique("regarray", spec->registers, spec->register_count, sizeof *spec->registers, mistake) < 0)
        return -1;
    for (unsigned i = 0; i < spec->struct_count; i++) {
        const struct struct_type *type = &spec->structs[i];
        for (unsigned j = 0; j < type->field_count; j++)
            for (unsigned k = 0; k < j; k++)
                if (strcmp(type->fields[j].name, type->fields[k].name) == 0)
                    return fail(mistake, type->line, "struct `%s` has field `%s` twice", type->name,
                                type->fields[j].name);
    }
    return 0;
}

/* Names the nearest field of the same struct. */
static int no_field(struct checker *check, unsigned line, const char *operand) {
    const struct spec *spec = check->spec;
    const char *name = strrchr(operand, '.'), *near = NULL;
    int type = -1;
    if (operand[0] == 'm')
        type = spec->metadata;
    else if (operand[0] == 't' && check->action != NULL)
        type = check->action->arguments;
    else if (operand[0] == 'h' && name > operand + 1) {
        char header[OPERAND_SIZE];
        strcpy(header, operand + 2);
        header[name - operand - 2] = '\0';
        int index = spec_header(spec, header);
        if (index < 0) {
            near = spec->header_count == 0
                       ? NULL
                       : nearest(header, spec->headers[0].name, spec->header_count, sizeof *spec->headers);
            return fail(check->mistake, line, "no header `%s`%s%s%s", header, near ? "; did you mean `" : "",
                        near ? near : "", near ? "`?" : "");
        }
        type = spec->headers[index].type;
    }
    if (type >= 0)
        near = nearest(name + 1, spec->structs[type].fields[0].name, spec->structs[type].field_count,
                       sizeof *spec->structs[type].fields);
    return fail(check->mistake, line, "no field `%s`%s%s%s", operand, near ? "; did you mean `" : "",
                near ? near : "", near ? "`?" : "");
}

/* A field, or, if `number` is allowed, a number that fits `width` bits. */
static int check_value(struct checker *check, const struct instruction *it, const char *operand,
                       enum operand kind, unsigned width) {
    int is_field = (operand[0] == 'h' || operand[0] == 'm' || operand[0] == 't') && operand[1] == '.' &&
                   operand[2] != '\0';
    if (is_field) {
        unsigned bits = spec_field_bits(check->spec, check->action, operand);
        if (bits == 0)
            return no_field(check, it->line, operand);
        if (operand[0] == 't' && (kind == DESTINATION || kind == METADATA || kind == CHECKSUM))
            return fail(check->mistake, it->line, "`%s` is an argument; it can only be read", operand);
        if (kind == METADATA && operand[0] != 'm')
            return fail(check->mistake, it->line, "`%s`; expected a metadata field, `m.NAME`", operand);
        if (kind == CHECKSUM && (operand[0] != 'h' || bits != 16))
            return fail(check->mistake, it->line, "`%s`; expected a header field of 16 bits", operand);
        return 0;
    }
    uint64_t value;
    if (kind != SOURCE || read_number(operand, &value) < 0)
        return fail(check->mistake, it->line, "`%s`; expected %s", operand,
                    kind == SOURCE ? "a field or a number" : "a field");
    if (width < 64 && value >> width != 0)
        return fail(check->mistake, it->line, "%s does not fit in %u bits", operand, width);
    return 0;
}

/* The width that bounds operand `index` of an instruction if it is a number. */
static unsigned width_of(struct checker *check, const struct instruction *it, const struct form *form,
                         unsigned index) {
    int register_index = (form->operands[0] == REGISTER && index == 1) || form->operands[1] == REGISTER;
    unsigned bits;
    if (index == 0 || (form->operands[0] == REGISTER && index == 2))
        return 64;
    if (register_index)
        return 32;
    bits = spec_field_bits(check->spec, check->action, it->operands[index - 1]);
    return bits == 0 ? 64 : bits;
}

static int check_label(struct checker *check, unsigned index, const char *label) {
    const struct code *code = check->code;
    for (unsigned i = 0; i < code->count; i++) {
        if (strcmp(code->instructions[i].label, label) != 0)
            continue;
        if (i > index)
            return 0;
        return fail(check->mistake, code->instructions[index].line,
                    "a jump back to `%s` in line %u; a pipeline has no loops", label,
                    code->instructions[i].line);
    }
    return fail(check->mistake, code->instructions[index].line, "no label `%s` in this block", label);
}

static int not_found(struct checker *check, unsigned line, const char *kind, const char *name,
                     const void *parts, unsigned count, size_t stride) {
    const char *near = count == 0 ? NULL : nearest(name, parts, count, stride);
    return fail(check->mistake, line, "no %s `%s`%s%s%s", kind, name, near ? "; did you mean `" : "",
                near ? near : "", near ? "`?" : "");
}

static int check_operand(struct checker *check, unsigned index, const struct form *form, unsigned operand) {
    const struct spec *spec = check->spec;
    const struct instruction *it = &check->code->instructions[index];
    const char *text = it->operands[operand];
    switch (form->operands[operand]) {
    case NONE:
        return 0;
    case HEADER:
        if (strncmp(text, "h.", 2) != 0)
            return fail(check->mistake, it->line, "`%s`; expected a header, `h.NAME`", text);
        if (spec_header(spec, text + 2) < 0)
            return not_found(check, it->line, "header", text + 2, spec->headers, spec->header_count,
                             sizeof *spec->headers);
        return 0;
    case LABEL:
        return check_label(check, index, text);
    case REGISTER:
        if (spec_register(spec, text) < 0)
            return not_found(check, it->line, "regarray", text, spec->registers, spec->register_count,
                             sizeof *spec->registers);
        return 0;
    case TABLE:
        if (spec_table(spec, text) < 0)
            return not_found(check, it->line, "table", text, spec->tables, spec->table_count,
                             sizeof *spec->tables);
        return 0;
    case ACTION:
        if (spec_action(spec, text) < 0)
            return not_found(check, it->line, "action", text, spec->actions, spec->action_count,
                             sizeof *spec->actions);
        return 0;
    default:
        return check_value(check, it, text, form->operands[operand], width_of(check, it, form, operand));
    }
}

static int check_instruction(struct checker *check, unsigned index) {
    const struct instruction *it = &check->code->instructions[index];
    const struct form *form = find_form(it->operation);
    unsigned expected = 0;
    uint64_t value;
    if (form == NULL) {
        const char *near = nearest(it->operation, forms[0].operation, form_count, sizeof *forms);
        return fail(check->mistake, it->line, "no instruction `%s` here%s%s%s", it->operation,
                    near ? "; did you mean `" : "", near ? near : "", near ? "`?" : "");
    }
    if (!(form->place & (check->action == NULL ? IN_APPLY : IN_ACTION)))
        return fail(check->mistake, it->line, "`%s` in %s", it->operation,
                    check->action == NULL ? "the apply block; it is for actions"
                                          : "an action; it is for the apply block");
    while (expected < OPERANDS_MAX && form->operands[expected] != NONE)
        expected++;
    if (it->operand_count != expected)
        return fail(check->mistake, it->line, "`%s` with %u operands; expected %u", it->operation,
                    it->operand_count, expected);
    for (unsigned i = 0; i < expected; i++)
        if (check_operand(check, index, form, i) < 0)
            return -1;
    if ((strcmp(it->operation, "shl") == 0 || strcmp(it->operation, "shr") == 0) &&
        read_number(it->operands[1], &value) == 0 && value > 63)
        return fail(check->mistake, it->line, "a shift by %s; at most 63", it->operands[1]);
    return 0;
}

static int check_code(const struct spec *spec, const struct action *action, struct mistake *mistake) {
    const struct code *code = action == NULL ? &spec->apply : &action->code;
    struct checker check = {.spec = spec, .action = action, .code = code, .mistake = mistake};
    const struct instruction *last = &code->instructions[code->count - 1];
    for (unsigned i = 0; i < code->count; i++) {
        const char *label = code->instructions[i].label;
        for (unsigned j = 0; j < i && label[0] != '\0'; j++)
            if (strcmp(label, code->instructions[j].label) == 0)
                return fail(mistake, code->instructions[i].line, "label `%s` for a second time", label);
        if (check_instruction(&check, i) < 0)
            return -1;
        if (action == NULL && (i == 0) != (strcmp(code->instructions[i].operation, "rx") == 0))
            return fail(mistake, code->instructions[i].line,
                        "`rx` begins the apply block, and stands there only");
    }
    if (strcmp(last->operation, action == NULL ? "tx" : "return") != 0)
        return fail(mistake, last->line, "the last instruction is `%s`; expected `%s`", last->operation,
                    action == NULL ? "tx" : "return");
    return 0;
}

static int check_table(const struct spec *spec, const struct table *table, struct mistake *mistake) {
    struct checker check = {.spec = spec, .mistake = mistake};
    int wildcard = 0, found = 0;
    if (table->action_count == 0 || table->default_action < 0 || table->size == 0)
        return fail(mistake, table->line, "table `%s` without %s", table->name,
                    table->action_count == 0    ? "`actions`"
                    : table->default_action < 0 ? "`default_action`"
                                                : "`size`");
    for (unsigned i = 0; i < table->key_count; i++) {
        const struct key *key = &table->keys[i];
        if ((key->field[0] != 'h' && key->field[0] != 'm') || key->field[1] != '.')
            return fail(mistake, key->line, "key `%s`; expected `h.HEADER.FIELD` or `m.FIELD`", key->field);
        if (spec_field_bits(spec, NULL, key->field) == 0)
            return no_field(&check, key->line, key->field);
        /* `m.`, or `h.HEADER.`: all but the field's own name. */
        size_t prefix = (size_t)(strrchr(key->field, '.') - key->field) + 1;
        if (strncmp(key->field, table->keys[0].field, prefix) != 0)
            return fail(mistake, key->line,
                        "key `%s` beside `%s`; SWX takes all keys of a table from one struct", key->field,
                        table->keys[0].field);
        for (unsigned j = 0; j < i; j++)
            if (strcmp(key->field, table->keys[j].field) == 0)
                return fail(mistake, key->line, "key `%s` for a second time", key->field);
        wildcard += key->match == MATCH_WILDCARD;
    }
    if (wildcard > 0 && wildcard < (int)table->key_count)
        return fail(mistake, table->line, "table `%s` mixes `exact` and `wildcard`; keep to one",
                    table->name);
    for (unsigned i = 0; i < table->action_count; i++) {
        found |= table->actions[i] == table->default_action;
        for (unsigned j = 0; j < i; j++)
            if (table->actions[i] == table->actions[j])
                return fail(mistake, table->line, "table `%s` has action `%s` twice", table->name,
                            spec->actions[table->actions[i]].name);
    }
    if (!found)
        return fail(mistake, table->line, "table `%s`: its default action `%s` is not among its actions",
                    table->name, spec->actions[table->default_action].name);
    return check_arguments(spec, &spec->actions[table->default_action], table->default_arguments, table->line,
                           mistake);
}

int spec_check(const struct spec *spec, struct mistake *mistake) {
    if (check_names(spec, mistake) < 0)
        return -1;
    if (spec->metadata < 0)
        return fail(mistake, 0, "no metadata; expected `metadata instanceof STRUCT`");
    if (spec->apply_line == 0)
        return fail(mistake, 0, "no apply block");
    if (spec->header_count == 0 || spec->header_count > 64)
        return fail(mistake, 0, "%u headers; SWX takes 1 to 64", spec->header_count);
    for (unsigned i = 0; i < spec->action_count; i++)
        if (check_code(spec, &spec->actions[i], mistake) < 0)
            return -1;
    for (unsigned i = 0; i < spec->table_count; i++)
        if (check_table(spec, &spec->tables[i], mistake) < 0)
            return -1;
    return check_code(spec, NULL, mistake);
}
