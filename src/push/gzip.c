/* SPDX-License-Identifier: Apache-2.0 */
/* See gzip.h. */
#include "gzip.h"

#ifdef SN_HAVE_ZLIB
#include <zlib.h>

bool sn_gzip(const void *bytes, size_t length, struct sn_buffer *out)
{
	enum { GZIP = 16, LEVEL = 5, MEMORY = 8 };
	z_stream stream = {0};
	if (length > UINT32_MAX || deflateInit2(&stream, LEVEL, Z_DEFLATED, MAX_WBITS + GZIP,
						MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
		return false;
	size_t before = out->count, most = deflateBound(&stream, length);
	unsigned char *room = sn_buffer_room(out, most);
	stream.next_in = (unsigned char *)bytes;
	stream.avail_in = (unsigned)length;
	stream.next_out = room;
	stream.avail_out = (unsigned)most;
	bool is_done = room && deflate(&stream, Z_FINISH) == Z_STREAM_END;
	sn_buffer_cut(out, before + (is_done ? stream.total_out : 0));
	deflateEnd(&stream);
	return is_done;
}
#else
bool sn_gzip(const void *bytes, size_t length, struct sn_buffer *out)
{
	return false;
}
#endif
