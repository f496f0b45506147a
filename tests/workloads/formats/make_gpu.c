/* SPDX-License-Identifier: Apache-2.0 */
/* make-gpu cubin CC|amd ISA|fatbin CC|bundle 0 FILE: writes one of unit/gpu_fixture.h's binaries.
 */
#include "../../unit/gpu_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	size_t bytes;
	uint8_t *image = NULL;
	if (argc != 4)
		return 129;
	unsigned number = (unsigned)atoi(argv[2]);
	if (strcmp(argv[1], "cubin") == 0)
		image = gpu_fixture_cubin(number, &bytes);
	else if (strcmp(argv[1], "amd") == 0 && number >= 9 && number <= 12)
		image = gpu_fixture_code_object(number, &bytes);
	else if (strcmp(argv[1], "fatbin") == 0)
		image = gpu_fixture_fatbin(number, &bytes);
	else if (strcmp(argv[1], "bundle") == 0)
		image = gpu_fixture_bundle(&bytes);
	FILE *file = image ? fopen(argv[3], "wb") : NULL;
	if (!file || fwrite(image, 1, bytes, file) != bytes || fclose(file) != 0)
		return 128;
	free(image);
	return 0;
}
