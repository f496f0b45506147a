/* SPDX-License-Identifier: Apache-2.0 */
/* The description of the user's accelerators, read once, and the adapter. */
#include "configured.h"

#include "collect/core/line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sn_configured_call sn_configured_calls[SN_CONFIGURED_STUBS];
struct sn_configured_device sn_configured_devices[SN_CONFIGURED_LIBRARIES];
_Atomic uint32_t sn_configured_call_count, sn_configured_device_count;
static uint32_t described; /* of the devices, those of the user's */

/* ---- adding ---- */

struct sn_configured_device *sn_configured_add_device(const char *name, const char *library)
{
	uint32_t number = sn_configured_device_count;
	struct sn_configured_device *device = &sn_configured_devices[number];
	if (number == SN_CONFIGURED_LIBRARIES)
		return NULL;
	sn_line_add(&SN_LINE(device->name), name);
	sn_line_add(&SN_LINE(device->library), library);
	device->interface =
	    (struct sn_gpu_interface)SN_GPU_INTERFACE(configured, .device = device->name);
	device->interface.name = device->name;
	device->first = device->end = sn_configured_call_count;
	/* release: complete before it is counted */
	atomic_store_explicit(&sn_configured_device_count, number + 1, memory_order_release);
	return device;
}

bool sn_configured_add_call(struct sn_configured_device *device,
			    const struct sn_configured_call *call)
{
	uint32_t number = sn_configured_call_count;
	if (number == SN_CONFIGURED_STUBS)
		return false;
	sn_configured_calls[number] = *call;
	device->end = number + 1;
	atomic_store_explicit(&sn_configured_call_count, number + 1, memory_order_release);
	return true;
}

uint32_t sn_configured_found(const struct sn_configured_device *device)
{
	uint32_t found = 0;
	for (uint32_t i = device->first; i < device->end; i++)
		found += atomic_load_explicit(&sn_configured_calls[i].function,
					      memory_order_relaxed) != 0;
	return found;
}

/* ---- reading ---- */

/* The next word of a line into text[0..bytes); false where there is none, or it does not fit. */
static bool read_word(const char **at, char *text, size_t bytes)
{
	size_t length = strcspn(*at, " \n");
	if (!length || length >= bytes)
		return false;
	memcpy(text, *at, length);
	text[length] = 0;
	*at += length + (*(*at + length) == ' ');
	return true;
}

static bool read_number(const char **at, uint8_t *number)
{
	char text[4];
	uint64_t value;
	if (!read_word(at, text, sizeof(text)) || *sn_parse_number(text, 10, &value) || value > 255)
		return false;
	*number = (uint8_t)value;
	return true;
}

/* Whether an argument is where the stub can read it. */
static bool is_place(unsigned place, unsigned words)
{
	return place == SN_CONFIGURED_NOWHERE || place < SN_CONFIGURED_REGISTERS + words;
}

static bool read_call(const char *at)
{
	struct sn_configured_call call = {0};
	if (!described || sn_configured_call_count == SN_CONFIGURED_CALLS ||
	    !read_word(&at, call.name, sizeof(call.name)) || !read_number(&at, &call.words) ||
	    !read_number(&at, &call.stream) || !read_number(&at, &call.bytes) ||
	    !read_number(&at, &call.kernel) || call.words > SN_CONFIGURED_WORDS ||
	    !is_place(call.stream, call.words) || !is_place(call.bytes, call.words) ||
	    !is_place(call.kernel, call.words))
		return false;
	struct sn_configured_device *device = &sn_configured_devices[described - 1];
	call.interface = &device->interface;
	return sn_configured_add_call(device, &call);
}

static bool read_device(const char *at)
{
	char name[sizeof(sn_configured_devices->name)],
	    library[sizeof(sn_configured_devices->library)];
	if (described == SN_CONFIGURED_DEVICES || !read_word(&at, name, sizeof(name)) ||
	    !read_word(&at, library, sizeof(library)) || !sn_configured_add_device(name, library))
		return false;
	described++;
	return true;
}

static bool read_description(const char *text)
{
	while (text && *text) {
		bool is_read = text[0] == 'd' && text[1] == ' '	  ? read_device(text + 2)
			       : text[0] == 'f' && text[1] == ' ' ? read_call(text + 2)
								  : false;
		if (!is_read)
			return false;
		text += strcspn(text, "\n");
		text += *text != 0;
	}
	return sn_configured_call_count > 0;
}

/* ---- the adapter ---- */

static enum { UNREAD, NONE, WRONG, READ } state;

static int attach(void)
{
	const char *text = getenv("SONDE_GPU_API");
	if (state == UNREAD)
		state = !text || !*text ? NONE : read_description(text) ? READ : WRONG;
	sn_configured_find();
	return -EAGAIN; /* modules that are loaded later call them, too */
}

static void add_state(struct sn_line *line, const struct sn_configured_device *device)
{
	uint32_t found = sn_configured_found(device);
	SN_LINE_ADD(line, line->length ? ", " : "", device->name, ": ");
	if (!found) {
		SN_LINE_ADD(line, "no ", device->library, " in this process");
		return;
	}
	sn_line_add_number(line, found);
	sn_line_add(line, " of ");
	sn_line_add_number(line, device->end - device->first);
	SN_LINE_ADD(line, " calls of ", device->library);
}

static const char *status(void)
{
	static char text[512];
	struct sn_line line = SN_LINE(text);
	if (state != READ)
		return state == WRONG ? "SONDE_GPU_API cannot be read" : NULL;
	for (uint32_t i = 0; i < described; i++)
		add_state(&line, &sn_configured_devices[i]);
	return text;
}

const struct sn_adapter sn_adapter_configured = {
    .name = "configured",
    .attach = attach,
    .status = status,
};
