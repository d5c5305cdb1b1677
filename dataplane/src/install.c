#include "install.h"

#include <stdlib.h>
#include <string.h>

#define RETURN_IF(error, line, ...)                                                                          \
    do {                                                                                                     \
        int error_ = (error);                                                                                \
        if (error_ != 0)                                                                                     \
            return fail(mistake, line, __VA_ARGS__, strerror(-error_));                                      \
    } while (0)

/* SWX reads and writes eight bytes wherever a field lies, so there must be eight behind the last one of
 * metadata. */
#define PADDING "unpause_padding"

static int install_struct(struct rte_swx_pipeline *swx, const struct spec *spec, unsigned index,
                          struct mistake *mistake) {
    const struct struct_type *type = &spec->structs[index];
    unsigned count = type->field_count;
    struct rte_swx_field_params *fields = calloc(count + 1, sizeof *fields);
    int error;
    if (fields == NULL)
        return fail(mistake, type->line, "no memory left");
    for (unsigned i = 0; i < count; i++)
        fields[i] = (struct rte_swx_field_params){type->fields[i].name, type->fields[i].bits};
    if ((int)index == spec->metadata)
        fields[count++] = (struct rte_swx_field_params){PADDING, 64};
    error = rte_swx_pipeline_struct_type_register(swx, type->name, fields, count, 0);
    free(fields);
    RETURN_IF(error, type->line, "SWX refuses struct `%s`: %s", type->name);
    return 0;
}

/* The instructions' texts, to be freed. */
static const char **texts(const struct code *code) {
    const char **lines = calloc(code->count, sizeof *lines);
    for (unsigned i = 0; lines != NULL && i < code->count; i++)
        lines[i] = code->instructions[i].text;
    return lines;
}

static int install_action(struct rte_swx_pipeline *swx, const struct spec *spec, const struct action *action,
                          struct mistake *mistake) {
    const char *arguments = action->arguments < 0 ? NULL : spec->structs[action->arguments].name;
    const char **lines = texts(&action->code);
    int error;
    if (lines == NULL)
        return fail(mistake, action->line, "no memory left");
    error = rte_swx_pipeline_action_config(swx, action->name, arguments, lines, action->code.count);
    free(lines);
    RETURN_IF(error, action->line, "SWX refuses action `%s`: %s", action->name);
    return 0;
}

static int install_table(struct rte_swx_pipeline *swx, const struct spec *spec, const struct table *table,
                         struct mistake *mistake) {
    struct rte_swx_match_field_params *keys = calloc(table->key_count + 1, sizeof *keys);
    const char **actions = calloc(table->action_count, sizeof *actions);
    const char *arguments = table->default_arguments[0] == '\0' ? NULL : table->default_arguments;
    int error = -1;
    if (keys != NULL && actions != NULL) {
        for (unsigned i = 0; i < table->key_count; i++)
            keys[i] = (struct rte_swx_match_field_params){
                table->keys[i].field, table->keys[i].match == MATCH_EXACT ? RTE_SWX_TABLE_MATCH_EXACT
                                                                          : RTE_SWX_TABLE_MATCH_WILDCARD};
        for (unsigned i = 0; i < table->action_count; i++)
            actions[i] = spec->actions[table->actions[i]].name;
        struct rte_swx_pipeline_table_params params = {
            .fields = table->key_count == 0 ? NULL : keys,
            .n_fields = table->key_count,
            .action_names = actions,
            .n_actions = table->action_count,
            .default_action_name = spec->actions[table->default_action].name,
            .default_action_args = arguments,
            .default_action_is_const = table->default_is_const,
        };
        error = rte_swx_pipeline_table_config(swx, table->name, &params, NULL, NULL, table->size);
    }
    free(keys);
    free(actions);
    RETURN_IF(error, table->line, "SWX refuses table `%s`: %s", table->name);
    return 0;
}

int pipeline_create(struct pipeline *pipeline, const char *name, const struct spec *spec,
                    struct mistake *mistake) {
    struct rte_swx_pipeline *swx;
    const char **lines;
    int error;
    *pipeline = (struct pipeline){NULL, NULL};
    RETURN_IF(rte_swx_pipeline_config(&pipeline->swx, name, 0), 0, "SWX makes no pipeline: %s");
    swx = pipeline->swx;
    for (unsigned i = 0; i < spec->struct_count; i++)
        if (install_struct(swx, spec, i, mistake) < 0)
            return -1;
    for (unsigned i = 0; i < spec->header_count; i++)
        RETURN_IF(rte_swx_pipeline_packet_header_register(swx, spec->headers[i].name,
                                                          spec->structs[spec->headers[i].type].name),
                  spec->headers[i].line, "SWX refuses header `%s`: %s", spec->headers[i].name);
    RETURN_IF(rte_swx_pipeline_packet_metadata_register(swx, spec->structs[spec->metadata].name), 0,
              "SWX refuses the metadata: %s");
    for (unsigned i = 0; i < spec->register_count; i++) {
        const struct register_array *array = &spec->registers[i];
        RETURN_IF(rte_swx_pipeline_regarray_config(swx, array->name, array->size, array->initial),
                  array->line, "SWX refuses regarray `%s`: %s", array->name);
    }
    for (unsigned i = 0; i < spec->action_count; i++)
        if (install_action(swx, spec, &spec->actions[i], mistake) < 0)
            return -1;
    for (unsigned i = 0; i < spec->table_count; i++)
        if (install_table(swx, spec, &spec->tables[i], mistake) < 0)
            return -1;
    lines = texts(&spec->apply);
    if (lines == NULL)
        return fail(mistake, spec->apply_line, "no memory left");
    error = rte_swx_pipeline_instructions_config(swx, lines, spec->apply.count);
    free(lines);
    RETURN_IF(error, spec->apply_line, "SWX refuses the apply block: %s");
    return 0;
}

static int write_table_entry(struct pipeline *pipeline, const char *table, const struct entry *entry,
                             struct mistake *mistake) {
    int blank = 0, error;
    struct rte_swx_table_entry *row =
        rte_swx_ctl_pipeline_table_entry_read(pipeline->control, table, entry->text, &blank);
    if (row == NULL)
        return fail(mistake, entry->line, "SWX reads no entry of table `%s` in `%s`", table, entry->text);
    error = entry->kind == ENTRY_TABLE
                ? rte_swx_ctl_pipeline_table_entry_add(pipeline->control, table, row)
                : rte_swx_ctl_pipeline_table_default_entry_add(pipeline->control, table, row);
    free(row->key);
    free(row->key_mask);
    free(row->action_data);
    free(row);
    RETURN_IF(error, entry->line, "SWX refuses an entry of table `%s`: %s", table);
    return 0;
}

int pipeline_start(struct pipeline *pipeline, const struct spec *spec, const struct entries *entries,
                   struct mistake *mistake) {
    RETURN_IF(rte_swx_pipeline_build(pipeline->swx), 0, "SWX does not build the pipeline: %s");
    pipeline->control = rte_swx_ctl_pipeline_create(pipeline->swx);
    if (pipeline->control == NULL)
        return fail(mistake, 0, "SWX makes no control plane");
    for (unsigned i = 0; i < entries->count; i++) {
        const struct entry *entry = &entries->entries[i];
        if (entry->kind == ENTRY_REGISTER)
            RETURN_IF(rte_swx_ctl_pipeline_regarray_write(pipeline->swx, spec->registers[entry->part].name,
                                                          (uint32_t)entry->index, entry->value),
                      entry->line, "SWX does not write register `%s`: %s", spec->registers[entry->part].name);
        else if (write_table_entry(pipeline, spec->tables[entry->part].name, entry, mistake) < 0)
            return -1;
    }
    RETURN_IF(rte_swx_ctl_pipeline_commit(pipeline->control, 1), 0, "SWX does not take the entries: %s");
    return 0;
}

void pipeline_free(struct pipeline *pipeline) {
    if (pipeline->control != NULL)
        rte_swx_ctl_pipeline_free(pipeline->control);
    if (pipeline->swx != NULL)
        rte_swx_pipeline_free(pipeline->swx);
    *pipeline = (struct pipeline){NULL, NULL};
}
