/* SPDX-License-Identifier: Apache-2.0 */
/* The options --gpu-samples and --gpu-samples-in, and what is known of their cost. */
#include "gpu_samples.h"

#include "base/text.h"
#include "cmd/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 255u

/* As the devices have it: from 32 to 2^31. */
static bool is_period(const char *text)
{
	char *end;
	unsigned long cycles = strtoul(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && cycles >= 32 && cycles <= 1ul << 31 &&
	       !(cycles & (cycles - 1));
}

int sn_run_gpu_samples(void *context, const struct sn_options *options, const char *text)
{
	static const char *const modes[] = {"continuous", "serialized"};
	struct sn_launch_request *launch = context;
	launch->gpu_samples = text ? text : modes[0];
	if (!strcmp(launch->gpu_samples, "off")) {
		launch->gpu_samples = NULL;
		return 0;
	}
	for (size_t mode = 0; mode < sizeof(modes) / sizeof(*modes); mode++) {
		const char *rest = launch->gpu_samples + strlen(modes[mode]);
		if (sn_text_begins(launch->gpu_samples, modes[mode]) &&
		    (!*rest || (*rest == '@' && is_period(rest + 1))))
			return 0;
	}
	return sn_options_refuse(options, "--gpu-samples", text,
				 "not continuous, serialized or off, nor the first two with "
				 "@CYCLES, a power of two from 32 to 2147483648");
}

int sn_run_gpu_samples_in(void *context, const struct sn_options *options, const char *text)
{
	if (!*text || strlen(text) > NAME_BYTES)
		return sn_options_refuse(options, "--gpu-samples-in", text,
					 "not the name of a region, of 1 to %u bytes", NAME_BYTES);
	((struct sn_launch_request *)context)->gpu_samples_in = text;
	return 0;
}

int sn_run_gpu_samples_check(const struct sn_launch_request *launch,
			     const struct sn_options *options)
{
	return launch->gpu_samples_in && !launch->gpu_samples
		   ? sn_command_misuse(options->command,
				       "option '--gpu-samples-in' needs --gpu-samples")
		   : 0;
}

void sn_run_gpu_samples_tell(const struct sn_launch_request *launch)
{
	if (!launch->gpu_samples)
		return;
	if (sn_text_begins(launch->gpu_samples, "serialized"))
		fprintf(stderr,
			"sonde: --gpu-samples=serialized: each CUDA kernel runs alone, and the "
			"program waits for it: kernels that overlap otherwise take longer; HIP "
			"kernels are left alone\n");
	else
		fprintf(stderr,
			"sonde: --gpu-samples=continuous: CUDA kernels run as they would; a kernel "
			"that several calls launch has its samples divided among them by time "
			"(HIP tells the call)\n");
	if (launch->gpu_samples_in)
		fprintf(stderr,
			"sonde: --gpu-samples-in: CUDA devices are sampled while a thread of the "
			"process is in a region '%s'; HIP devices all the time, and kept is what "
			"is of kernels launched in one\n",
			sn_shown(launch->gpu_samples_in).text);
}

void sn_run_gpu_samples_tell_none(const struct sn_launch_request *launch, const struct sonde_db *db)
{
	const char *cuda = sonde_db_property(db, "adapter.cuda");
	const char *rocm = sonde_db_property(db, "adapter.rocm");
	const char *of_rocm = rocm ? strstr(rocm, "instructions are not sampled: ") : NULL;
	if (!launch->gpu_samples || sonde_db_metric_by_name(db, "gpu-samples") != SONDE_NONE)
		return;
	if (!cuda || strstr(cuda, "; instructions sampled"))
		cuda = "the driver has given none";
	fprintf(stderr, "sonde: --gpu-samples: no instruction was sampled: %s\n",
		sn_shown(of_rocm ? strchr(of_rocm, ':') + 2 : cuda).text);
}
