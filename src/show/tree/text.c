/* SPDX-License-Identifier: Apache-2.0 */
/* Header and footer of text reports; see text.h. */
#include "text.h"

#include "base/utf8.h"
#include "frame/user_frame.h"
#include "computation.h"
#include "show/number.h"
#include "show/source/source.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void sn_text_style(const struct sn_terminal *page, const char *sequence)
{
	if (page->has_color)
		fputs(sequence, page->out);
}

void sn_text_styled(const struct sn_terminal *page, const char *sequence, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	sn_text_style(page, sequence);
	vfprintf(page->out, format, arguments);
	sn_text_style(page, SN_PLAIN);
	va_end(arguments);
}

const char *sn_text_unit(const struct sn_view *view, uint32_t position)
{
	const struct sonde_db_metric *metric = sonde_db_metric(view->db, view->metrics[position]);
	return sonde_db_string(view->db, metric->unit);
}

static struct sn_text_name shown_name(const char *name)
{
	struct sn_text_name shown;
	sn_utf8_clean(name, shown.text, sizeof(shown.text));
	return shown;
}

struct sn_text_name sn_text_metric(const struct sn_view *view, uint32_t position)
{
	return shown_name(sn_view_metric_name(view, position));
}

static int width_of(const char *name)
{
	int width = (int)sn_utf8_columns(name);
	return width < 9 ? 9 : width;
}

int sn_text_metric_width(const struct sn_view *view, uint32_t position)
{
	return width_of(sn_text_metric(view, position).text);
}

void sn_text_columns(const struct sn_view *view, uint32_t first, struct sn_text_table *table)
{
	for (uint32_t m = first; m < view->metric_count; m++)
		sn_text_table_column(table, sn_text_metric(view, m).text,
				     sn_text_metric_width(view, m));
	for (uint32_t f = 0; f < view->formula_count; f++) {
		struct sn_text_name name = shown_name(view->formulas[f]->name);
		sn_text_table_column(table, name.text, width_of(name.text));
	}
}

void sn_text_cell(const struct sn_view *view, uint32_t position, double value,
		  struct sn_text_table *table)
{
	sn_text_table_cell(
	    table, value == 0 ? "-" : sn_number_text(value, sn_text_unit(view, position)).text);
}

void sn_text_formulas(const struct sn_view *view, const struct sn_derived *derived,
		      bool is_exclusive, struct sn_text_table *table)
{
	for (uint32_t f = 0; f < view->formula_count; f++)
		sn_text_table_cell(table, sn_number_text(is_exclusive ? derived[f].exclusive
								      : derived[f].inclusive,
							 view->formulas[f]->unit)
					      .text);
}

struct sn_text_table sn_text_begin_heads(const struct sn_terminal *page)
{
	sn_text_style(page, SN_BOLD);
	return (struct sn_text_table){.out = page->out, .gap = 1};
}

void sn_text_end_heads(const struct sn_terminal *page, struct sn_text_table *table,
		       const char *rest)
{
	sn_text_table_rest(table);
	fputs(rest, page->out);
	sn_text_table_end(table);
	sn_text_style(page, SN_PLAIN);
}

void sn_text_profile(const struct sn_view *view, uint32_t profile, int room,
		     struct sn_text_table *table)
{
	char name[512];
	sn_view_profile_name(view->db, profile, name, sizeof(name));
	if (!view->is_full)
		sn_utf8_elide(name, room > 12 ? (size_t)room : 12);
	fputs(name, table->out);
	sn_text_table_end(table);
}

/* "[sin, mul two.py:5, cos, add two.py:6]": what a compiled computation does, and where that was written;
 * "[sin, mul; two.py:6]" where that is known of the whole alone. False where nothing is known. */
static bool put_operations(const struct sn_view *view, uint32_t id, char text[SN_LABEL_CHARS])
{
	enum { SHOWN = 8 };
	struct sn_computation_part operations[SN_COMPUTATION_PARTS_MAX];
	const struct sonde_db_frame *frame = sonde_db_frame(view->db, id);
	uint32_t count = sn_computation_parts(view->graph, view->db, id, operations);
	char name[64], file[128];
	size_t used = 0;
	bool has_line = !frame->line || frame->file == SONDE_NONE;
	for (uint32_t i = 0; i < count && i < SHOWN && used < SN_LABEL_CHARS; i++) {
		const struct sn_computation_part *it = operations + i, *next = it + 1;
		sn_utf8_clean(it->name, name, sizeof(name));
		used += (size_t)snprintf(text + used, SN_LABEL_CHARS - used, "%s%s",
					 used ? ", " : "[", name);
		has_line |= it->file && it->line == frame->line;
		bool is_last = i + 1 == count || i + 1 == SHOWN || next->line != it->line ||
			       next->file != it->file;
		if (!is_last || !it->line || !it->file || used >= SN_LABEL_CHARS)
			continue;
		sn_utf8_clean(sn_label_base(it->file), file, sizeof(file));
		used +=
		    (size_t)snprintf(text + used, SN_LABEL_CHARS - used, " %s:%u", file, it->line);
	}
	if (!count || used >= SN_LABEL_CHARS)
		return false;
	const char *rest = count > SHOWN ? ", ..." : "";
	if (has_line) {
		snprintf(text + used, SN_LABEL_CHARS - used, "%s]", rest);
		return true;
	}
	sn_utf8_clean(sn_label_base(sonde_db_string(view->db, frame->file)), file, sizeof(file));
	snprintf(text + used, SN_LABEL_CHARS - used, "%s; %s:%u]", rest, file, frame->line);
	return true;
}

bool sn_text_place(const struct sn_view *view, struct sn_source *source, uint32_t id,
		   bool wants_line, char text[SN_LABEL_CHARS])
{
	const struct sonde_db_frame *frame = sonde_db_frame(view->db, id);
	const char *file = sonde_db_string(view->db, frame->file);
	char place[SN_LABEL_CHARS];
	text[0] = '\0';
	if (put_operations(view, id, text))
		return false;
	text[0] = '\0';
	if (wants_line && source && sn_frame_is_user(view->db, frame) &&
	    sn_source_line(source, file, frame->line, text, SN_LABEL_CHARS))
		return true;
	sn_label_place(view->db, view->grouping, id, place);
	if (*place)
		snprintf(text, SN_LABEL_CHARS, "[%.1020s]", place);
	return false;
}

uint64_t sn_text_measured_ns(const struct sonde_db *db)
{
	uint64_t end = 0;
	uint32_t count = sonde_db_profile_count(db);
	for (uint32_t i = 0; i < count; i++)
		if (sonde_db_profile(db, i)->end_ns > end)
			end = sonde_db_profile(db, i)->end_ns;
	return end;
}

/* The path quoted for a shell, so that a suggested command can be copied. */
static void quote_path(const char *path, char *text, size_t size)
{
	bool is_plain = !strpbrk(path, " \t\n'\"\\$&;()<>|*?[]#~`!{}") && *path != '-';
	if (is_plain || strchr(path, '\'')) {
		sn_utf8_clean(path, text, size);
		return;
	}
	char clean[480];
	sn_utf8_clean(path, clean, sizeof(clean));
	snprintf(text, size, "'%s'", clean);
}

/* Adds a part to the line of what is missing, which begins with the first part. */
__attribute__((format(printf, 3, 4))) static void
add_missing(const struct sn_terminal *page, bool *has_any, const char *format, ...)
{
	va_list arguments;
	if (!*has_any)
		sn_text_style(page, "\033[33m");
	fputs(*has_any ? ", " : "Missing: ", page->out);
	va_start(arguments, format);
	vfprintf(page->out, format, arguments);
	va_end(arguments);
	*has_any = true;
}

/* A drop in few words; `info` has the whole sentence. */
static const char *cause_in_words(const char *cause)
{
	static const char *const words[][2] = {
	    {"sample-busy", "late samples"},
	    {"sample-memory", "samples beyond the memory limit"},
	    {"unwind-truncated", "cut call paths"},
	    {"unwind-scanned", "guessed call paths"},
	    {"unwind-mismatch", "doubtful call paths"},
	    {"context-mismatch", "mistaken call paths"},
	    {"python-unreadable", "paths without Python"},
	    {"path-too-deep", "paths too deep"},
	    {"thread-unmeasured", "unsampled threads"},
	    {"event-unavailable", "unavailable events"},
	    {"gpu-untimed", "untimed device operations"},
	    {"gpu-lost", "lost device operations"},
	    {"capture-unknown", "replayed without their capture"},
	    {"forward-unknown", "backward without forward"},
	    {"tensor-unknown", "tensors of unknown origin"},
	    {"region-unbalanced", "unbalanced regions"},
	    {"checkpoint-failed", "failed checkpoints"},
	    {"metric-overflow", "surplus metrics"},
	    {"confined", "confined by seccomp"},
	    {"stopped", "stopped by the program"},
	    {"process-unwritable", "without a place to write"},
	    {"process-unseen", "made by a system call"},
	    {"program-unmeasured", "started without the collector"},
	    {"process-unknown", "known by CPU time alone"},
	};
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(words[i][0], cause) == 0)
			return words[i][1];
	return cause;
}

static double number_of(const struct sonde_db *db, const char *key)
{
	const char *value = sonde_db_property(db, key);
	return value ? strtod(value, NULL) : 0;
}

/* The whole of it before its reasons: processes and CPU time. */
static void print_missing_whole(const struct sonde_db *db, const struct sn_terminal *page,
				bool *has_any)
{
	double missing = number_of(db, "missing.processes");
	double cpu_ns = number_of(db, "missing.cpu_ns");
	double all_cpu_ns = number_of(db, "missing.of_cpu_ns");
	if (missing <= 0)
		return;
	add_missing(page, has_any, "%s of %s processes", sn_number_counted(missing).text,
		    sn_number_counted(number_of(db, "missing.of_processes")).text);
	if (all_cpu_ns > 0)
		add_missing(
		    page, has_any, "%s of the CPU time",
		    sn_number_part(cpu_ns < all_cpu_ns ? cpu_ns : all_cpu_ns, all_cpu_ns).text);
}

/* What the drops come to; shares below a thousandth are left to `info`. */
static void print_missing(const struct sn_view *view, const struct sn_terminal *page)
{
	const struct sonde_db *db = view->db;
	char cause[64], path[512];
	bool has_any = false;
	print_missing_whole(db, page, &has_any);
	for (uint32_t i = 0; i < sonde_db_drop_count(db); i++) {
		const struct sonde_db_drop *drop = sonde_db_drop(db, i);
		double share = sn_view_drop_share(db, drop);
		const char *name = sonde_db_string(db, drop->cause);
		sn_utf8_clean(cause_in_words(name), cause, sizeof(cause));
		if (share >= 0.001)
			add_missing(page, &has_any, "%s %s", sn_number_part(share, 1).text, cause);
		else if (share < 0 && drop->count > 0)
			add_missing(page, &has_any, "%s %s",
				    sn_number_counted((double)drop->count).text, cause);
	}
	const char *unreadable = sonde_db_property(db, "processes.unreadable");
	if (unreadable && strcmp(unreadable, "0") != 0)
		add_missing(page, &has_any, "%s process%s of which nothing can be read", unreadable,
			    strcmp(unreadable, "1") == 0 ? "" : "es");
	const char *unfinished = sonde_db_property(db, "processes.unfinished");
	if (unfinished && strcmp(unfinished, "0") != 0)
		add_missing(page, &has_any, "what a process did after its last checkpoint");
	if (!has_any)
		return;
	sn_text_style(page, SN_PLAIN);
	quote_path(view->path, path, sizeof(path));
	fprintf(page->out, " (see sonde info %s)\n", path);
}

static void print_command(const struct sn_view *view, const struct sn_terminal *page, int room)
{
	const char *command = sonde_db_property(view->db, "command");
	if (!command)
		command = sonde_db_property(view->db, "program");
	if (!command)
		command = sn_label_base(view->path);
	char text[1024];
	sn_utf8_clean(command, text, sizeof(text));
	if (room > 10)
		sn_utf8_elide(text, (size_t)room);
	fputs(text, page->out);
}

bool sn_text_header(const struct sn_view *view, const struct sn_terminal *page, double total,
		    double count)
{
	if (view->is_bare)
		return total != 0;
	const struct sonde_db_metric *metric = sonde_db_metric(view->db, view->metrics[0]);
	const char *dot = page->is_unicode ? " \xc2\xb7 " : " | ";
	struct sn_number value = sn_number_text(total, sn_text_unit(view, 0));
	char line[512];
	uint32_t threads = sonde_db_profile_count(view->db), chosen = 0;
	for (uint32_t i = 0; i < threads; i++)
		chosen += !view->profiles || view->profiles[i];
	char of_all[32] = "";
	if (chosen < threads)
		snprintf(of_all, sizeof(of_all), "%u of ", chosen);
	const char *met = sonde_db_property(view->db, "threads");
	double known = met && chosen == threads ? strtod(met, NULL) : 0;
	snprintf(line, sizeof(line), "%s%s %s%s%s%s%s thread%s%s", dot,
		 sn_number_counted(count).text,
		 !metric->period ? "measured"
		 : count == 1	 ? "sample"
				 : "samples",
		 view->where_count > 0 ? " in the selection" : "", dot, of_all,
		 sn_number_counted(known > threads ? known : threads).text, threads == 1 ? "" : "s",
		 dot);
	struct sn_text_name name = sn_text_metric(view, 0);
	sn_text_styled(page, SN_BOLD, "%s %s", name.text, value.text);
	fputs(line, page->out);
	size_t columns = strlen(name.text) + 1 + strlen(value.text) + sn_utf8_columns(line);
	print_command(view, page, view->is_full ? 0 : page->width - (int)columns);
	putc('\n', page->out);
	print_missing(view, page);
	putc('\n', page->out);
	if (total != 0)
		return true;
	if (view->is_restricted)
		fprintf(page->out, "Nothing of %s was measured in this selection.\n", name.text);
	else
		fputs("Nothing was measured: the program ended before its first sample, or "
		      "did not use what this metric counts.\n",
		      page->out);
	return false;
}

/* The word that --where knows a frame by, in the terms of the table it heads. */
static void name_frame(const struct sn_view *view, uint32_t id, char *text, size_t size)
{
	const struct sonde_db_frame *frame = sonde_db_frame(view->db, id);
	const char *kind = sonde_frame_kind_name(frame->kind);
	const char *file = sn_label_base(sonde_db_string(view->db, frame->file));
	if (view->grouping == SN_GROUP_FILE)
		snprintf(text, size, "file:%s", file);
	else if (view->grouping == SN_GROUP_MODULE && frame->module != SONDE_NONE)
		snprintf(text, size, "module:%s", sn_label_base(sn_label_module(view->db, frame)));
	else if (view->grouping == SN_GROUP_KIND || view->grouping == SN_GROUP_MODULE)
		snprintf(text, size, "kind:%s", kind);
	else if (frame->line > 0 &&
		 (strcmp(kind, "python") == 0 || view->grouping == SN_GROUP_USER_LINE ||
		  view->grouping == SN_GROUP_SOURCE_LINE))
		snprintf(text, size, "%s:%u", file, frame->line);
	else
		snprintf(text, size, "%s", sonde_db_string(view->db, frame->name));
}

/* That word if it can be written simply, else "NAME". */
static void make_pattern(const struct sn_view *view, uint32_t id, char *text, size_t size)
{
	enum { LONGEST = 48 };
	char word[256] = "";
	if (id != SONDE_NONE)
		name_frame(view, id, word, sizeof(word));
	bool is_simple = *word && strlen(word) <= LONGEST && !strpbrk(word, "'\"*?[<>! (");
	sn_utf8_clean(is_simple ? word : "NAME", text, size);
}

void sn_text_footer(const struct sn_view *view, const struct sn_terminal *page, uint32_t frame)
{
	char name[512], pattern[256];
	if (view->is_bare)
		return;
	quote_path(view->path, name, sizeof(name));
	make_pattern(view, frame, pattern, sizeof(pattern));
	sn_text_style(page, SN_DIM);
	fprintf(page->out, "\nNext: sonde report %s ", name);
	switch (view->kind) {
	case SN_VIEW_TOP_DOWN:
		fprintf(page->out, "--view bottom-up, or sonde export --to html %s", name);
		break;
	case SN_VIEW_BOTTOM_UP:
		fputs("--by line, or --by operator", page->out);
		break;
	case SN_VIEW_FLAT:
		fprintf(page->out, "--where '%s' to see how it is reached", pattern);
		break;
	case SN_VIEW_THREADS:
		fputs("--thread TID to see one of them", page->out);
		break;
	}
	sn_text_style(page, SN_PLAIN);
	putc('\n', page->out);
}
