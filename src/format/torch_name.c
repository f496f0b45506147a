/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See torch_name.h. A structure of at::_ops is named NAME or NAME_OVERLOAD, and both parts may hold
 * underscores, so the text alone does not tell where to cut. Overloads that begin with a capital
 * are cut by that; the others, and the names that look as if they had an overload, are listed in
 * torch_names.def. A later PyTorch's unlisted overload keeps its whole structure name.
 */
#include "torch_name.h"

#include <stdbool.h>
#include <string.h>

#define PREFIX "_ZN2at4_ops"

static const char *const overloads[] = {
#define SN_TORCH_OVERLOAD(name) name,
#define SN_TORCH_WHOLE(name)
#include "torch_names.def"
#undef SN_TORCH_OVERLOAD
#undef SN_TORCH_WHOLE
};

static const char *const whole_names[] = {
#define SN_TORCH_OVERLOAD(name)
#define SN_TORCH_WHOLE(name) name,
#include "torch_names.def"
#undef SN_TORCH_OVERLOAD
#undef SN_TORCH_WHOLE
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static bool is_overload(const char *text, size_t length)
{
	if (text[0] >= 'A' && text[0] <= 'Z')
		return true;
	for (size_t index = 0; index < COUNT(overloads); index++)
		if (strlen(overloads[index]) == length && !memcmp(overloads[index], text, length))
			return true;
	return false;
}

/* Length of the longest listed name that `text` is, or is followed by an overload; 0 for none. */
static size_t whole_length(const char *text, size_t length)
{
	size_t best = 0;
	for (size_t index = 0; index < COUNT(whole_names); index++) {
		size_t listed = strlen(whole_names[index]);
		if (listed > best && listed <= length &&
		    !memcmp(whole_names[index], text, listed) &&
		    (listed == length || text[listed] == '_'))
			best = listed;
	}
	return best;
}

/* Length of the operator's own name within a structure's name. */
static size_t name_length(const char *text, size_t length)
{
	if (length > 4 && text[0] == '_' && text[1] == '_') /* __and___Tensor */
		for (size_t at = 3; at + 1 < length; at++)
			if (text[at] == '_' && text[at + 1] == '_')
				return at + 2;
	size_t least = whole_length(text, length);
	for (size_t at = 1; at + 1 < length; at++)
		if (text[at] == '_' && at >= least && is_overload(text + at + 1, length - at - 1))
			return at;
	return length;
}

/* And the structure's name. */
static enum sn_torch_entry read_symbol(const char *symbol, const char **structure, size_t *length)
{
	if (strncmp(symbol, PREFIX, sizeof(PREFIX) - 1))
		return SN_TORCH_NO_ENTRY;
	const char *text = symbol + sizeof(PREFIX) - 1;
	size_t count = 0;
	while (*text >= '0' && *text <= '9' && count < 1000)
		count = count * 10 + (size_t)(*text++ - '0');
	*structure = text;
	*length = count;
	if (!count || strnlen(text, count) < count)
		return SN_TORCH_NO_ENTRY;
	if (!strncmp(text + count, "4callE", 6))
		return SN_TORCH_CALL;
	return strncmp(text + count, "10redispatchE", 13) ? SN_TORCH_NO_ENTRY : SN_TORCH_REDISPATCH;
}

enum sn_torch_entry sn_torch_entry_of(const char *symbol)
{
	const char *text;
	size_t count;
	return read_symbol(symbol, &text, &count);
}

enum sn_torch_entry sn_torch_operator_name(const char *symbol, char *name, size_t bytes,
					   size_t *length)
{
	const char *text;
	size_t count;
	enum sn_torch_entry entry = read_symbol(symbol, &text, &count);
	if (entry == SN_TORCH_NO_ENTRY)
		return entry;
	count = name_length(text, count);
	if (count > bytes - 7)
		count = bytes - 7;
	memcpy(name, "aten::", 6);
	memcpy(name + 6, text, count);
	name[6 + count] = 0;
	*length = 6 + count;
	return entry;
}
