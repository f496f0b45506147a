/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arbitrary bytes as programs of XLA, as text and as protobuf: what is read of them must hold
 * together. See fuzz_hlo.sh.
 */
#include "import/xplane/hlo.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct sn_hlo *hlo, int result)
{
	for (size_t i = 0; i < hlo->instruction_count && !result; i++) {
		const struct sn_hlo_instruction *one = hlo->instructions + i;
		if (one->computation >= hlo->computation_count ||
		    one->first_operand + one->operand_count > hlo->id_count ||
		    one->first_called + one->called_count > hlo->id_count)
			abort();
	}
	sn_hlo_release(hlo);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sn_db_builder *builder = sn_db_builder_new();
	const char *text = (const char *)data, *end = text + size;
	struct sn_hlo hlo;
	if (!builder)
		return 0;
	while (text < end) {
		const char *before = text;
		check(&hlo, sn_hlo_read_text(&hlo, builder, &text, end));
		if (text <= before)
			abort(); /* it would never end */
	}
	check(&hlo, sn_hlo_read(&hlo, builder, data, size));
	sn_db_builder_free(builder);
	return 0;
}
