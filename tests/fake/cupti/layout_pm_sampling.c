/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles where the adapter's declarations of CUPTI's PM sampling lie as a release's headers have them, as layout_counters.c does. */
#include "same_field.h"

#include "collect/adapters/cuda/cupti_pm_sampling.h"

#include <cupti.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>

#define OF_SAMPLER(ours, theirs)                                                                   \
	SAME(ours, of.of.bytes, theirs, structSize);                                               \
	SAME(ours, of.of.nothing, theirs, pPriv);                                                  \
	SAME(ours, of.object, theirs, pPmSamplingObject)
#define IS_SAMPLER(theirs)                                                                         \
	SAME(struct sn_cupti_of, of.bytes, theirs, structSize);                                    \
	SAME(struct sn_cupti_of, object, theirs, pPmSamplingObject)

SAME(struct sn_cupti_pm_enable, device, CUpti_PmSampling_Enable_Params, deviceIndex);
SAME(struct sn_cupti_pm_enable, sampler, CUpti_PmSampling_Enable_Params, pPmSamplingObject);
IS_SAMPLER(CUpti_PmSampling_Disable_Params);
IS_SAMPLER(CUpti_PmSampling_Start_Params);
IS_SAMPLER(CUpti_PmSampling_Stop_Params);

OF_SAMPLER(struct sn_cupti_pm_config, CUpti_PmSampling_SetConfig_Params);
SAME(struct sn_cupti_pm_config, image_bytes, CUpti_PmSampling_SetConfig_Params, configSize);
SAME(struct sn_cupti_pm_config, image, CUpti_PmSampling_SetConfig_Params, pConfig);
SAME(struct sn_cupti_pm_config, buffer_bytes, CUpti_PmSampling_SetConfig_Params,
     hardwareBufferSize);
SAME(struct sn_cupti_pm_config, interval, CUpti_PmSampling_SetConfig_Params, samplingInterval);
SAME(struct sn_cupti_pm_config, trigger, CUpti_PmSampling_SetConfig_Params, triggerMode);

OF_SAMPLER(struct sn_cupti_pm_data_size, CUpti_PmSampling_GetCounterDataSize_Params);
SAME(struct sn_cupti_pm_data_size, names, CUpti_PmSampling_GetCounterDataSize_Params, pMetricNames);
SAME(struct sn_cupti_pm_data_size, count, CUpti_PmSampling_GetCounterDataSize_Params, numMetrics);
SAME(struct sn_cupti_pm_data_size, most_samples, CUpti_PmSampling_GetCounterDataSize_Params,
     maxSamples);
SAME(struct sn_cupti_pm_data_size, data_bytes, CUpti_PmSampling_GetCounterDataSize_Params,
     counterDataSize);

OF_SAMPLER(struct sn_cupti_data_begin, CUpti_PmSampling_CounterDataImage_Initialize_Params);
SAME(struct sn_cupti_data_begin, data_bytes, CUpti_PmSampling_CounterDataImage_Initialize_Params,
     counterDataSize);
SAME(struct sn_cupti_data_begin, data, CUpti_PmSampling_CounterDataImage_Initialize_Params,
     pCounterData);

OF_SAMPLER(struct sn_cupti_pm_decode, CUpti_PmSampling_DecodeData_Params);
SAME(struct sn_cupti_pm_decode, data, CUpti_PmSampling_DecodeData_Params, pCounterDataImage);
SAME(struct sn_cupti_pm_decode, data_bytes, CUpti_PmSampling_DecodeData_Params,
     counterDataImageSize);
SAME(struct sn_cupti_pm_decode, end, CUpti_PmSampling_DecodeData_Params, decodeStopReason);
SAME(struct sn_cupti_pm_decode, is_overflow, CUpti_PmSampling_DecodeData_Params, overflow);

SAME(struct sn_cupti_pm_count, data, CUpti_PmSampling_GetCounterDataInfo_Params, pCounterDataImage);
SAME(struct sn_cupti_pm_count, data_bytes, CUpti_PmSampling_GetCounterDataInfo_Params,
     counterDataImageSize);
SAME(struct sn_cupti_pm_count, room, CUpti_PmSampling_GetCounterDataInfo_Params, numTotalSamples);
SAME(struct sn_cupti_pm_count, begun, CUpti_PmSampling_GetCounterDataInfo_Params,
     numPopulatedSamples);
SAME(struct sn_cupti_pm_count, count, CUpti_PmSampling_GetCounterDataInfo_Params,
     numCompletedSamples);

OF_SAMPLER(struct sn_cupti_pm_sample, CUpti_PmSampling_CounterData_GetSampleInfo_Params);
SAME(struct sn_cupti_pm_sample, data, CUpti_PmSampling_CounterData_GetSampleInfo_Params,
     pCounterDataImage);
SAME(struct sn_cupti_pm_sample, data_bytes, CUpti_PmSampling_CounterData_GetSampleInfo_Params,
     counterDataImageSize);
SAME(struct sn_cupti_pm_sample, sample, CUpti_PmSampling_CounterData_GetSampleInfo_Params,
     sampleIndex);
SAME(struct sn_cupti_pm_sample, start_ns, CUpti_PmSampling_CounterData_GetSampleInfo_Params,
     startTimestamp);
SAME(struct sn_cupti_pm_sample, end_ns, CUpti_PmSampling_CounterData_GetSampleInfo_Params,
     endTimestamp);

_Static_assert(SN_CUPTI_PM_SAMPLING == CUPTI_PROFILER_TYPE_PM_SAMPLING &&
		   SN_CUPTI_TRIGGER_CYCLES == CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL &&
		   SN_CUPTI_TRIGGER_TIME == CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL &&
		   SN_CUPTI_DECODE_FULL == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL &&
		   SN_CUPTI_DECODE_ALL == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS,
	       "numbers");
