/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles where the adapter's declarations of CUPTI's counters lie as a release's headers have them (12.6 and later). Before 13.2 a header
 * includes C++'s <string>, of which it uses nothing: who compiles this gives an empty one. */
#include "same_field.h"

#include "collect/adapters/cuda/cupti_counters.h"

#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

SAME(struct sn_cupti_sized, bytes, CUpti_Profiler_Initialize_Params, structSize);
SAME(struct sn_cupti_sized, nothing, CUpti_Profiler_Initialize_Params, pPriv);
SAME(struct sn_cupti_chip, device, CUpti_Device_GetChipName_Params, deviceIndex);
SAME(struct sn_cupti_chip, name, CUpti_Device_GetChipName_Params, pChipName);
SAME(struct sn_cupti_host, type, CUpti_Profiler_Host_Initialize_Params, profilerType);
SAME(struct sn_cupti_host, chip, CUpti_Profiler_Host_Initialize_Params, pChipName);
SAME(struct sn_cupti_host, availability, CUpti_Profiler_Host_Initialize_Params,
     pCounterAvailabilityImage);
SAME(struct sn_cupti_host, host, CUpti_Profiler_Host_Initialize_Params, pHostObject);
SAME(struct sn_cupti_of, object, CUpti_Profiler_Host_Deinitialize_Params, pHostObject);
SAME(struct sn_cupti_metric, of.object, CUpti_Profiler_Host_GetMetricProperties_Params,
     pHostObject);
SAME(struct sn_cupti_metric, name, CUpti_Profiler_Host_GetMetricProperties_Params, pMetricName);
SAME(struct sn_cupti_metric, unit, CUpti_Profiler_Host_GetMetricProperties_Params, pDimUnit);
SAME(struct sn_cupti_metric, type, CUpti_Profiler_Host_GetMetricProperties_Params, metricType);
SAME(struct sn_cupti_add_metrics, of.object, CUpti_Profiler_Host_ConfigAddMetrics_Params,
     pHostObject);
SAME(struct sn_cupti_add_metrics, names, CUpti_Profiler_Host_ConfigAddMetrics_Params,
     ppMetricNames);
SAME(struct sn_cupti_add_metrics, count, CUpti_Profiler_Host_ConfigAddMetrics_Params, numMetrics);
SAME(struct sn_cupti_image_size, of.object, CUpti_Profiler_Host_GetConfigImageSize_Params,
     pHostObject);
SAME(struct sn_cupti_image_size, image_bytes, CUpti_Profiler_Host_GetConfigImageSize_Params,
     configImageSize);
SAME(struct sn_cupti_image, of.object, CUpti_Profiler_Host_GetConfigImage_Params, pHostObject);
SAME(struct sn_cupti_image, image_bytes, CUpti_Profiler_Host_GetConfigImage_Params,
     configImageSize);
SAME(struct sn_cupti_image, image, CUpti_Profiler_Host_GetConfigImage_Params, pConfigImage);
SAME(struct sn_cupti_passes, image_bytes, CUpti_Profiler_Host_GetNumOfPasses_Params,
     configImageSize);
SAME(struct sn_cupti_passes, image, CUpti_Profiler_Host_GetNumOfPasses_Params, pConfigImage);
SAME(struct sn_cupti_passes, passes, CUpti_Profiler_Host_GetNumOfPasses_Params, numOfPasses);
SAME(struct sn_cupti_evaluation, of.object, CUpti_Profiler_Host_EvaluateToGpuValues_Params,
     pHostObject);
SAME(struct sn_cupti_evaluation, data, CUpti_Profiler_Host_EvaluateToGpuValues_Params,
     pCounterDataImage);
SAME(struct sn_cupti_evaluation, data_bytes, CUpti_Profiler_Host_EvaluateToGpuValues_Params,
     counterDataImageSize);
SAME(struct sn_cupti_evaluation, range, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
SAME(struct sn_cupti_evaluation, names, CUpti_Profiler_Host_EvaluateToGpuValues_Params,
     ppMetricNames);
SAME(struct sn_cupti_evaluation, count, CUpti_Profiler_Host_EvaluateToGpuValues_Params, numMetrics);
SAME(struct sn_cupti_evaluation, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params,
     pMetricValues);

SAME(struct sn_cupti_range_enable, context, CUpti_RangeProfiler_Enable_Params, ctx);
SAME(struct sn_cupti_range_enable, profiler, CUpti_RangeProfiler_Enable_Params,
     pRangeProfilerObject);
SAME(struct sn_cupti_of, object, CUpti_RangeProfiler_Disable_Params, pRangeProfilerObject);
SAME(struct sn_cupti_of, object, CUpti_RangeProfiler_Start_Params, pRangeProfilerObject);
SAME(struct sn_cupti_of, object, CUpti_RangeProfiler_PopRange_Params, pRangeProfilerObject);
SAME(struct sn_cupti_data_size, of.object, CUpti_RangeProfiler_GetCounterDataSize_Params,
     pRangeProfilerObject);
SAME(struct sn_cupti_data_size, names, CUpti_RangeProfiler_GetCounterDataSize_Params, pMetricNames);
SAME(struct sn_cupti_data_size, count, CUpti_RangeProfiler_GetCounterDataSize_Params, numMetrics);
SAME(struct sn_cupti_data_size, most_ranges, CUpti_RangeProfiler_GetCounterDataSize_Params,
     maxNumOfRanges);
SAME(struct sn_cupti_data_size, most_nodes, CUpti_RangeProfiler_GetCounterDataSize_Params,
     maxNumRangeTreeNodes);
SAME(struct sn_cupti_data_size, data_bytes, CUpti_RangeProfiler_GetCounterDataSize_Params,
     counterDataSize);
SAME(struct sn_cupti_data_begin, of.object, CUpti_RangeProfiler_CounterDataImage_Initialize_Params,
     pRangeProfilerObject);
SAME(struct sn_cupti_data_begin, data_bytes, CUpti_RangeProfiler_CounterDataImage_Initialize_Params,
     counterDataSize);
SAME(struct sn_cupti_data_begin, data, CUpti_RangeProfiler_CounterDataImage_Initialize_Params,
     pCounterData);
SAME(struct sn_cupti_range_config, of.object, CUpti_RangeProfiler_SetConfig_Params,
     pRangeProfilerObject);
SAME(struct sn_cupti_range_config, image_bytes, CUpti_RangeProfiler_SetConfig_Params, configSize);
SAME(struct sn_cupti_range_config, image, CUpti_RangeProfiler_SetConfig_Params, pConfig);
SAME(struct sn_cupti_range_config, data_bytes, CUpti_RangeProfiler_SetConfig_Params,
     counterDataImageSize);
SAME(struct sn_cupti_range_config, data, CUpti_RangeProfiler_SetConfig_Params, pCounterDataImage);
SAME(struct sn_cupti_range_config, range, CUpti_RangeProfiler_SetConfig_Params, range);
SAME(struct sn_cupti_range_config, replay, CUpti_RangeProfiler_SetConfig_Params, replayMode);
SAME(struct sn_cupti_range_config, most_ranges, CUpti_RangeProfiler_SetConfig_Params,
     maxRangesPerPass);
SAME(struct sn_cupti_range_config, levels, CUpti_RangeProfiler_SetConfig_Params, numNestingLevels);
SAME(struct sn_cupti_range_config, least_level, CUpti_RangeProfiler_SetConfig_Params,
     minNestingLevel);
SAME(struct sn_cupti_range_config, pass, CUpti_RangeProfiler_SetConfig_Params, passIndex);
SAME(struct sn_cupti_range_config, level, CUpti_RangeProfiler_SetConfig_Params, targetNestingLevel);
SAME(struct sn_cupti_range_push, of.object, CUpti_RangeProfiler_PushRange_Params,
     pRangeProfilerObject);
SAME(struct sn_cupti_range_push, name, CUpti_RangeProfiler_PushRange_Params, pRangeName);
SAME(struct sn_cupti_range_stop, of.object, CUpti_RangeProfiler_Stop_Params, pRangeProfilerObject);
SAME(struct sn_cupti_range_stop, pass, CUpti_RangeProfiler_Stop_Params, passIndex);
SAME(struct sn_cupti_range_stop, level, CUpti_RangeProfiler_Stop_Params, targetNestingLevel);
SAME(struct sn_cupti_range_stop, is_all, CUpti_RangeProfiler_Stop_Params, isAllPassSubmitted);
SAME(struct sn_cupti_range_decode, of.object, CUpti_RangeProfiler_DecodeData_Params,
     pRangeProfilerObject);
SAME(struct sn_cupti_range_decode, dropped, CUpti_RangeProfiler_DecodeData_Params,
     numOfRangeDropped);
SAME(struct sn_cupti_range_count, data, CUpti_RangeProfiler_GetCounterDataInfo_Params,
     pCounterDataImage);
SAME(struct sn_cupti_range_count, data_bytes, CUpti_RangeProfiler_GetCounterDataInfo_Params,
     counterDataImageSize);
SAME(struct sn_cupti_range_count, count, CUpti_RangeProfiler_GetCounterDataInfo_Params,
     numTotalRanges);
SAME(struct sn_cupti_range_name, data, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params,
     pCounterDataImage);
SAME(struct sn_cupti_range_name, data_bytes, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params,
     counterDataImageSize);
SAME(struct sn_cupti_range_name, range, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params,
     rangeIndex);
SAME(struct sn_cupti_range_name, delimiter, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params,
     rangeDelimiter);
SAME(struct sn_cupti_range_name, name, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params,
     rangeName);

_Static_assert(SN_CUPTI_RANGE_PROFILER == CUPTI_PROFILER_TYPE_RANGE_PROFILER &&
		   SN_CUPTI_METRIC_COUNTER == CUPTI_METRIC_TYPE_COUNTER &&
		   SN_CUPTI_USER_RANGE == CUPTI_UserRange &&
		   SN_CUPTI_USER_REPLAY == CUPTI_UserReplay &&
		   SN_CUPTI_ERROR_INVALID_METRIC_NAME == CUPTI_ERROR_INVALID_METRIC_NAME,
	       "numbers");
