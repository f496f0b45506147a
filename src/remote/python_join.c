/* SPDX-License-Identifier: Apache-2.0 */
/* See python_join.h. */
#include "python_join.h"

#include "base/text.h"

struct joining {
	const struct sn_python_paths *paths;
	uint32_t left; /* of the frames */
	uint32_t groups, evals;
	size_t outer; /* what is on the native path from this on started the interpreter */
	struct sn_joined *joined;
	size_t count;
};

bool sn_python_starts(const char *path)
{
	static const char *const names[] = {"python", "libc.so", "libc-", "ld-linux", "ld-musl"};
	const char *name = sn_text_base_name(path);
	for (size_t number = 0; number < sizeof(names) / sizeof(*names); number++)
		if (sn_text_begins(name, names[number]))
			return true;
	return false;
}

static void find_parts(struct joining *joining)
{
	const enum sn_python_part *parts = joining->paths->parts;
	size_t count = joining->paths->count, outermost = 0;
	for (size_t i = 0; i < count; i++) {
		if (parts[i] != SN_PYTHON_PART_EVAL)
			continue;
		joining->evals++;
		outermost = i;
	}
	joining->outer = count;
	while (joining->outer > outermost + 1 && parts[joining->outer - 1] != SN_PYTHON_PART_OTHER)
		joining->outer--;
	if (!joining->evals || joining->outer > outermost + 1)
		joining->outer = count; /* something else is among them */
}

static void find_groups(struct joining *joining)
{
	const struct sn_python_paths *paths = joining->paths;
	joining->left = paths->frame_count;
	for (uint32_t i = 0; i < joining->left; i++)
		joining->groups += paths->frames[i].is_entry;
	/* the outermost frames of one that was too deep */
	if (joining->left && !paths->frames[joining->left - 1].is_entry)
		joining->groups++;
}

static void put(struct joining *joining, bool is_python, size_t number)
{
	joining->joined[joining->count++] = (struct sn_joined){is_python, (uint32_t)number};
}

static void put_group(struct joining *joining)
{
	const struct sn_numbered_frame *frames = joining->paths->frames;
	while (joining->left) {
		put(joining, true, --joining->left);
		if (joining->left && frames[joining->left - 1].is_entry)
			break;
	}
	joining->groups--;
}

static void put_all(struct joining *joining)
{
	const struct sn_python_paths *paths = joining->paths;
	uint32_t paired = joining->evals < joining->groups ? joining->evals : joining->groups;
	uint32_t unpaired = paths->is_whole ? 0 : joining->evals - paired;
	uint32_t last = unpaired + paired, seen = 0; /* evaluations, from the outermost */
	while (joining->groups > joining->evals)
		put_group(joining);
	for (size_t i = paths->count; i--;) {
		enum sn_python_part part = paths->parts[i];
		seen += part == SN_PYTHON_PART_EVAL;
		if (part == SN_PYTHON_PART_EVAL && seen > unpaired && joining->groups)
			put_group(joining);
		else if (i < joining->outer && (seen >= last || part == SN_PYTHON_PART_OTHER ||
						part == SN_PYTHON_PART_START))
			put(joining, false, i);
	}
}

size_t sn_python_join(const struct sn_python_paths *paths, struct sn_joined *joined)
{
	struct joining joining = {.paths = paths, .joined = joined};
	find_groups(&joining);
	if (!joining.groups)
		return 0;
	find_parts(&joining);
	if (joining.evals || !paths->is_whole)
		put_all(&joining);
	return joining.count;
}
