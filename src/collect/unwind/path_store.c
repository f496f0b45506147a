/* SPDX-License-Identifier: Apache-2.0 */
/* Maps and enlarges the arrays of path_store.h, each time all of them at once. */
#include "path_store.h"

#include "collect/core/arena.h"
#include "own_stack.h"

#include <string.h>

#define ROOM_FIRST 1024u
/* Memory ends before, and so does every stack. */
#define ROOM_MOST  (1u << 24)

static bool map(struct sn_path_store *store, uint32_t room)
{
	size_t frame_bytes = sizeof(struct sn_walked) + 2 * sizeof(struct sn_native_frame) +
			     sizeof(struct sn_known) +
			     SN_INPUTS_A_FRAME * sizeof(struct sn_path_input);
	char *pages = sn_pages_map(room * frame_bytes);
	if (!pages)
		return false;
	*store = (struct sn_path_store){.room = room, .bytes = room * frame_bytes};
	store->walked = (struct sn_walked *)pages;
	store->fresh = (struct sn_native_frame *)(store->walked + room);
	store->path = store->fresh + room;
	store->known = (struct sn_known *)(store->path + room);
	store->inputs = (struct sn_path_input *)(store->known + room);
	return true;
}

bool sn_path_store_init(struct sn_path_store *store)
{
	return map(store, ROOM_FIRST);
}

void sn_path_store_release(struct sn_path_store *store)
{
	sn_pages_unmap(store->walked, store->bytes);
	*store = (struct sn_path_store){0};
}

struct growing {
	struct sn_path_store *store;
	uint32_t known, fresh;
	bool done;
};

static void grow(void *argument)
{
	struct growing *it = argument;
	struct sn_path_store *from = it->store, to;
	if (from->room >= ROOM_MOST || !map(&to, from->room * 2))
		return;
	uint32_t inputs = it->known ? from->known[it->known - 1].inputs_end : 0;
	memcpy(to.walked, from->walked, it->fresh * sizeof(*to.walked));
	memcpy(to.fresh, from->fresh, it->fresh * sizeof(*to.fresh));
	memcpy(to.path + to.room - it->known, from->path + from->room - it->known,
	       it->known * sizeof(*to.path));
	memcpy(to.known, from->known, it->known * sizeof(*to.known));
	memcpy(to.inputs, from->inputs, inputs * sizeof(*to.inputs));
	sn_path_store_release(from);
	*from = to;
	it->done = true;
}

bool sn_path_store_grow(struct sn_path_store *store, uint32_t known, uint32_t fresh)
{
	struct growing it = {store, known, fresh, false};
	sn_on_own_stack(grow, &it);
	return it.done;
}
