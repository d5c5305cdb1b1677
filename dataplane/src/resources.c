/* What a program would take of a switch with match-action stages, from its text.
 *
 * A stage is counted for each step of the longest chain of dependences through the apply block: an operation
 * on a field, a comparison of two fields, or a table with its action, register access included, takes one;
 * copies and tests for equality take none. So much for an upper pipeline in which whatever is independent
 * happens at once. How long the chain inside an action is says whether a register's own unit could do it. */
#include "resources.h"

#include <stdlib.h>
#include <string.h>

#include "instructions.h"

#define FIELDS_MAX 512
/* Registers that have an element for each port and priority, by their size. */
#define QUEUES 1024
#define PRIORITIES 8

/* When each field is known. */
struct schedule {
    char names[FIELDS_MAX][OPERAND_SIZE];
    unsigned stages[FIELDS_MAX];
    unsigned count;
};

static unsigned known(const struct schedule *schedule, const char *name) {
    for (unsigned i = 0; i < schedule->count; i++)
        if (strcmp(schedule->names[i], name) == 0)
            return schedule->stages[i];
    return 0;
}

static void note(struct schedule *schedule, const char *name, unsigned stage) {
    for (unsigned i = 0; i < schedule->count; i++)
        if (strcmp(schedule->names[i], name) == 0) {
            schedule->stages[i] = stage;
            return;
        }
    if (schedule->count < FIELDS_MAX) {
        strcpy(schedule->names[schedule->count], name);
        schedule->stages[schedule->count++] = stage;
    }
}

static unsigned larger(unsigned a, unsigned b) {
    return a > b ? a : b;
}

static int is(const struct instruction *it, const char *operation) {
    return strcmp(it->operation, operation) == 0;
}

static int is_jump(const struct instruction *it) {
    return strncmp(it->operation, "jmp", 3) == 0;
}

static int compares_order(const struct instruction *it) {
    return is(it, "jmplt") || is(it, "jmpgt");
}

/* Whether an instruction reads, or writes, its operand `index`. */
static int reads(const struct instruction *it, const struct form *form, unsigned index) {
    enum operand kind = form->operands[index];
    if (kind == DESTINATION)
        return !is(it, "mov") && !is(it, "regrd");
    return kind == FIELD || kind == SOURCE || kind == CHECKSUM;
}

static int writes(const struct form *form, unsigned index) {
    return form->operands[index] == DESTINATION || form->operands[index] == CHECKSUM;
}

static unsigned latest_read(const struct schedule *schedule, const struct instruction *it) {
    const struct form *form = find_form(it->operation);
    unsigned stage = 0;
    for (unsigned i = 0; i < it->operand_count; i++)
        if (reads(it, form, i))
            stage = larger(stage, known(schedule, it->operands[i]));
    return stage;
}

static void note_writes(struct schedule *schedule, const struct instruction *it, unsigned stage) {
    const struct form *form = find_form(it->operation);
    for (unsigned i = 0; i < it->operand_count; i++)
        if (writes(form, i))
            note(schedule, it->operands[i], stage);
}

/* A table: after what its keys and its actions read. All that it writes is known in the next stage. */
static unsigned table_stage(struct schedule *schedule, const struct spec *spec, const struct table *table,
                            unsigned control) {
    /* What an action reads after having written it is its own. */
    unsigned stage = control;
    for (unsigned i = 0; i < table->key_count; i++)
        stage = larger(stage, known(schedule, table->keys[i].field));
    for (unsigned i = 0; i < table->action_count; i++) {
        const struct code *code = &spec->actions[table->actions[i]].code;
        static struct schedule inside;
        inside.count = 0;
        for (unsigned j = 0; j < code->count; j++) {
            const struct instruction *it = &code->instructions[j];
            const struct form *form = find_form(it->operation);
            for (unsigned k = 0; k < it->operand_count; k++)
                if (reads(it, form, k) && known(&inside, it->operands[k]) == 0)
                    stage = larger(stage, known(schedule, it->operands[k]));
            note_writes(&inside, it, 1);
        }
    }
    stage++;
    for (unsigned i = 0; i < table->action_count; i++) {
        const struct code *code = &spec->actions[table->actions[i]].code;
        for (unsigned j = 0; j < code->count; j++)
            note_writes(schedule, &code->instructions[j], stage);
    }
    return stage;
}

static unsigned stages(const struct spec *spec) {
    static struct schedule schedule;
    unsigned last = 0, control = 0, join = 0;
    schedule.count = 0;
    for (unsigned i = 0; i < spec->apply.count; i++) {
        const struct instruction *it = &spec->apply.instructions[i];
        unsigned stage = larger(latest_read(&schedule, it), control);
        /* What stands where all ways have met again depends on no jump. */
        if (i >= join && !is_jump(it)) {
            control = 0;
            stage = latest_read(&schedule, it);
        }
        if (is(it, "table"))
            stage = table_stage(&schedule, spec, &spec->tables[spec_table(spec, it->operands[0])], control);
        else if (is_jump(it)) {
            control = larger(control, latest_read(&schedule, it) + (compares_order(it) ? 1 : 0));
            for (unsigned j = i; j < spec->apply.count; j++)
                if (strcmp(spec->apply.instructions[j].label, it->operands[0]) == 0)
                    join = larger(join, j);
            stage = control;
        } else if (!is(it, "mov") && !is(it, "rx") && !is(it, "tx") && !is(it, "extract") && !is(it, "emit"))
            stage++;
        note_writes(&schedule, it, stage);
        last = larger(last, stage);
    }
    return last;
}

/* The most operations that wait for one another on a way through an action; copies are none. */
static unsigned chain(const struct action *action) {
    static struct schedule schedule;
    unsigned longest = 0, control = 0;
    schedule.count = 0;
    for (unsigned i = 0; i < action->code.count; i++) {
        const struct instruction *it = &action->code.instructions[i];
        unsigned step = larger(latest_read(&schedule, it), control);
        if (is_jump(it)) {
            /* A comparison chooses; later ones may choose at the same time. */
            step = latest_read(&schedule, it) + (is(it, "jmp") ? 0 : 1);
            control = larger(control, is(it, "jmp") ? 0 : step);
        } else if (!is(it, "mov") && !is(it, "return") && !is(it, "regwr"))
            step++;
        note_writes(&schedule, it, step);
        longest = larger(longest, step);
    }
    return longest;
}

/* How often a way through an action reads or writes a register: the most over all ways, at once. */
static void accesses(const struct action *action, const char *name, unsigned *read, unsigned *written) {
    unsigned count = action->code.count;
    unsigned *most_read = calloc(count + 1, sizeof *most_read);
    unsigned *most_written = calloc(count + 1, sizeof *most_written);
    *read = *written = 0;
    /* Backwards: jumps lead forward only. */
    for (unsigned i = count; most_read != NULL && most_written != NULL && i-- > 0;) {
        const struct instruction *it = &action->code.instructions[i];
        int falls = !is(it, "jmp") && !is(it, "return");
        unsigned r = falls ? most_read[i + 1] : 0, w = falls ? most_written[i + 1] : 0;
        for (unsigned j = i + 1; is_jump(it) && j < count; j++)
            if (strcmp(action->code.instructions[j].label, it->operands[0]) == 0) {
                r = larger(r, most_read[j]);
                w = larger(w, most_written[j]);
            }
        most_read[i] = r + (is(it, "regrd") && strcmp(it->operands[1], name) == 0);
        most_written[i] = w + ((is(it, "regwr") || is(it, "regadd")) && strcmp(it->operands[0], name) == 0);
        *read = most_read[i];
        *written = most_written[i];
    }
    free(most_read);
    free(most_written);
}

/* Bits of an element in use: of the widest field that it is read into or written from; if packets only read
 * it, of the largest value that the control plane writes. */
static unsigned width(const struct program *program, unsigned index, int *written) {
    const struct spec *spec = &program->spec;
    const char *name = spec->registers[index].name;
    unsigned bits = 0, held = 1;
    *written = 0;
    for (unsigned i = 0; i < spec->action_count; i++)
        for (unsigned j = 0; j < spec->actions[i].code.count; j++) {
            const struct instruction *it = &spec->actions[i].code.instructions[j];
            int writing = (is(it, "regwr") || is(it, "regadd")) && strcmp(it->operands[0], name) == 0;
            int reading = is(it, "regrd") && strcmp(it->operands[1], name) == 0;
            if (writing || reading)
                bits = larger(bits, spec_field_bits(spec, &spec->actions[i], it->operands[writing ? 2 : 0]));
            *written |= writing;
        }
    if (*written)
        return bits == 0 ? 1 : bits;
    for (unsigned i = 0; i < program->entries.count; i++) {
        const struct entry *entry = &program->entries.entries[i];
        if (entry->kind == ENTRY_REGISTER && entry->part == (int)index)
            while (held < 64 && entry->value >> held != 0)
                held++;
    }
    return held;
}

/* Whether a register is touched from one table only, and once on each way through its actions. */
static int check_register(const char *file, const struct spec *spec, const struct register_array *array) {
    const char *table = NULL;
    struct mistake mistake;
    for (unsigned i = 0; i < spec->apply.count; i++)
        for (unsigned j = 0; j < spec->apply.instructions[i].operand_count; j++)
            if (strncmp(spec->apply.instructions[i].operation, "reg", 3) == 0 &&
                strcmp(spec->apply.instructions[i].operands[j], array->name) == 0) {
                fail(&mistake, spec->apply.instructions[i].line,
                     "regarray `%s` outside of an action; a switch touches it in one table's", array->name);
                complain(file, &mistake);
                return -1;
            }
    for (unsigned i = 0; i < spec->table_count; i++)
        for (unsigned j = 0; j < spec->tables[i].action_count; j++) {
            const struct action *action = &spec->actions[spec->tables[i].actions[j]];
            unsigned read, written;
            accesses(action, array->name, &read, &written);
            if (read == 0 && written == 0)
                continue;
            if (read > 1 || written > 1)
                fail(&mistake, action->line, "action `%s` touches regarray `%s` more than once", action->name,
                     array->name);
            else if (table != NULL && table != spec->tables[i].name)
                fail(&mistake, spec->tables[i].line, "regarray `%s` is touched from tables `%s` and `%s`",
                     array->name, table, spec->tables[i].name);
            else {
                table = spec->tables[i].name;
                continue;
            }
            complain(file, &mistake);
            return -1;
        }
    return 0;
}

/* Whether every packet goes through every table: in SWX one that left a table out would overtake others, and
 * in a switch it could not. */
static int check_tables(const char *file, const struct spec *spec) {
    const struct code *code = &spec->apply;
    struct mistake mistake;
    for (unsigned i = 0; i < code->count; i++)
        for (unsigned j = i + 1; is_jump(&code->instructions[i]) && j < code->count; j++) {
            if (strcmp(code->instructions[j].label, code->instructions[i].operands[0]) == 0)
                break;
            if (!is(&code->instructions[j], "table"))
                continue;
            fail(&mistake, code->instructions[i].line, "a jump over table `%s`; choose by a key of it",
                 code->instructions[j].operands[0]);
            complain(file, &mistake);
            return -1;
        }
    return 0;
}

static void print_registers(const struct program *program) {
    const struct spec *spec = &program->spec;
    unsigned per_queue = 0, shared = 0;
    for (unsigned i = 0; i < spec->register_count; i++) {
        int written;
        unsigned bits = width(program, i, &written);
        printf("| register `%s` | %u of %u bits%s |\n", spec->registers[i].name, spec->registers[i].size,
               bits, written ? "" : ", read only");
        if (spec->registers[i].size >= QUEUES)
            per_queue += bits;
        else
            shared += bits * spec->registers[i].size;
    }
    printf("| state of a port of 8 priorities | %u bits |\n", PRIORITIES * per_queue);
    printf("| state of 32 ports | %.1f KB |\n", 32 * PRIORITIES * per_queue / 8e3 + shared / 8e3);
    printf("| state of 64 ports | %.1f KB |\n", 64 * PRIORITIES * per_queue / 8e3 + shared / 8e3);
}

int resources(const char *file, const struct program *program) {
    const struct spec *spec = &program->spec;
    unsigned bits = 0, entries = 0, longest = 0;
    const char *where = "";
    if (check_tables(file, spec) < 0)
        return -1;
    for (unsigned i = 0; i < spec->register_count; i++)
        if (check_register(file, spec, &spec->registers[i]) < 0)
            return -1;
    for (unsigned i = 0; i < spec->structs[spec->metadata].field_count; i++)
        bits += spec->structs[spec->metadata].fields[i].bits;
    for (unsigned i = 0; i < program->entries.count; i++)
        entries += program->entries.entries[i].kind != ENTRY_REGISTER;
    for (unsigned i = 0; i < spec->action_count; i++)
        if (chain(&spec->actions[i]) > longest) {
            longest = chain(&spec->actions[i]);
            where = spec->actions[i].name;
        }
    printf("| | |\n|---|---|\n");
    printf("| match-action tables | %u |\n", spec->table_count);
    printf("| entries | %u |\n", entries);
    print_registers(program);
    printf("| metadata | %u bits |\n", bits);
    printf("| stages by dependence | %u |\n", stages(spec));
    printf("| longest chain in an action | %u operations, in `%s` |\n", longest, where);
    return 0;
}
