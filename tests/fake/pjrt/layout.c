/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares what the adapter and the fake take PJRT's interface to be with the interface's own header, which a package of a
 * plugin brings along (tests/cli/collect/test_pjrt.py). It only has to compile.
 */
#include <pjrt_c_api.h>

#include "../../../src/collect/adapters/pjrt/abi.h"
#include "pjrt.h"

#define SAME(left, right, text) _Static_assert((left) == (right), text)

/* ---- the table ---- */

#define SN_PJRT(name, place, function)                                                             \
	SAME(offsetof(PJRT_Api, PJRT_##function),                                                  \
	     offsetof(struct sn_pjrt_api, functions) + SN_PJRT_AT_##name * sizeof(void *),         \
	     "the adapter's place of " #function);
SN_PJRT_WRAPPED(SN_PJRT)
SN_PJRT_USED(SN_PJRT)
#undef SN_PJRT
SAME(offsetof(PJRT_Api, pjrt_api_version.major_version),
     offsetof(struct sn_pjrt_api, version.major), "the adapter's version");
SAME(offsetof(PJRT_Api, pjrt_api_version.minor_version),
     offsetof(struct sn_pjrt_api, version.minor), "the adapter's version");
SAME(offsetof(PJRT_Api, pjrt_api_version.minor_version),
     offsetof(struct pjrt_api, version.minor_version), "the fake's version");
SAME(PJRT_API_MAJOR, 0, "the form that is known");

#define PLACE(place, function)                                                                     \
	SAME(offsetof(PJRT_Api, PJRT_##function), offsetof(struct pjrt_api, functions[place]),     \
	     "the fake's place of " #function)
PLACE(PJRT_ERROR_DESTROY, Error_Destroy);
PLACE(PJRT_ERROR_MESSAGE, Error_Message);
PLACE(PJRT_EVENT_DESTROY, Event_Destroy);
PLACE(PJRT_EVENT_IS_READY, Event_IsReady);
PLACE(PJRT_EVENT_AWAIT, Event_Await);
PLACE(PJRT_EVENT_ON_READY, Event_OnReady);
PLACE(PJRT_CLIENT_CREATE, Client_Create);
PLACE(PJRT_CLIENT_DESTROY, Client_Destroy);
PLACE(PJRT_CLIENT_ADDRESSABLE_DEVICES, Client_AddressableDevices);
PLACE(PJRT_CLIENT_COMPILE, Client_Compile);
PLACE(PJRT_BUFFER_FROM_HOST, Client_BufferFromHostBuffer);
PLACE(PJRT_DESCRIPTION_ID, DeviceDescription_Id);
PLACE(PJRT_DEVICE_DESCRIPTION, Device_GetDescription);
PLACE(PJRT_EXECUTABLE_DESTROY, Executable_Destroy);
PLACE(PJRT_EXECUTABLE_NAME, Executable_Name);
PLACE(PJRT_OPTIMIZED_PROGRAM, Executable_OptimizedProgram);
PLACE(PJRT_LOADED_DESTROY, LoadedExecutable_Destroy);
PLACE(PJRT_LOADED_EXECUTABLE, LoadedExecutable_GetExecutable);
PLACE(PJRT_LOADED_DEVICES, LoadedExecutable_AddressableDevices);
PLACE(PJRT_EXECUTE, LoadedExecutable_Execute);
PLACE(PJRT_LOAD, Executable_DeserializeAndLoad);
PLACE(PJRT_BUFFER_DESTROY, Buffer_Destroy);
PLACE(PJRT_BUFFER_BYTES, Buffer_OnDeviceSizeInBytes);
PLACE(PJRT_COPY_TO_DEVICE, Buffer_CopyToDevice);
PLACE(PJRT_TO_HOST, Buffer_ToHostBuffer);
PLACE(PJRT_COMPILE, Compile);
PLACE(PJRT_COPY_TO_MEMORY, Buffer_CopyToMemory);

PLACE(PJRT_RAW_TO_HOST, Buffer_CopyRawToHost);
PLACE(PJRT_TRANSFER, AsyncHostToDeviceTransferManager_TransferData);

/* ---- records: a member, in the adapter's, in the fake's ---- */

#define BOTH(record, member, ours, in_ours, fake, in_fake)                                         \
	SAME(offsetof(PJRT_##record, member), offsetof(struct ours, in_ours),                      \
	     "the adapter's " #member " of " #record);                                             \
	SAME(offsetof(PJRT_##record, member), offsetof(struct fake, in_fake),                      \
	     "the fake's " #member " of " #record)

BOTH(Error_Destroy_Args, error, sn_pjrt_object, object, pjrt_error_destroy, error);
BOTH(Event_Await_Args, event, sn_pjrt_object, object, pjrt_event, event);
BOTH(LoadedExecutable_Destroy_Args, executable, sn_pjrt_object, object, pjrt_event, event);
BOTH(Executable_Destroy_Args, executable, sn_pjrt_object, object, pjrt_event, event);
BOTH(Event_OnReady_Args, event, sn_pjrt_on_ready, event, pjrt_on_ready, event);
BOTH(Event_OnReady_Args, callback, sn_pjrt_on_ready, callback, pjrt_on_ready, callback);
BOTH(Event_OnReady_Args, user_arg, sn_pjrt_on_ready, data, pjrt_on_ready, user_arg);
BOTH(Client_Compile_Args, program, sn_pjrt_compile, program, pjrt_compile, program);
BOTH(Client_Compile_Args, executable, sn_pjrt_compile, executable, pjrt_compile, executable);
BOTH(Executable_DeserializeAndLoad_Args, loaded_executable, sn_pjrt_load, executable, pjrt_load,
     loaded_executable);
BOTH(Program, code, sn_pjrt_program, code, pjrt_program, code);
BOTH(Program, code_size, sn_pjrt_program, code_bytes, pjrt_program, code_size);
BOTH(Program, format, sn_pjrt_program, format, pjrt_program, format);
BOTH(Program, format_size, sn_pjrt_program, format_bytes, pjrt_program, format_size);
BOTH(LoadedExecutable_GetExecutable_Args, loaded_executable, sn_pjrt_about, object,
     pjrt_loaded_executable, loaded);
BOTH(LoadedExecutable_GetExecutable_Args, executable, sn_pjrt_about, result, pjrt_loaded_executable,
     executable);
BOTH(Executable_OptimizedProgram_Args, program, sn_pjrt_about, result, pjrt_optimized_program,
     program);
BOTH(Device_GetDescription_Args, device_description, sn_pjrt_about, result, pjrt_description,
     description);
BOTH(DeviceDescription_Id_Args, id, sn_pjrt_about, result, pjrt_description_id, id);
BOTH(Buffer_OnDeviceSizeInBytes_Args, on_device_size_in_bytes, sn_pjrt_about, result,
     pjrt_buffer_bytes, on_device_size_in_bytes);
BOTH(Executable_Name_Args, executable_name, sn_pjrt_list, first, pjrt_executable_name, name);
BOTH(Executable_Name_Args, executable_name_size, sn_pjrt_list, count, pjrt_executable_name,
     name_size);
BOTH(LoadedExecutable_AddressableDevices_Args, addressable_devices, sn_pjrt_list, first,
     pjrt_devices, devices);
BOTH(LoadedExecutable_AddressableDevices_Args, num_addressable_devices, sn_pjrt_list, count,
     pjrt_devices, num_devices);
BOTH(LoadedExecutable_Execute_Args, executable, sn_pjrt_execute, executable, pjrt_execute,
     executable);
BOTH(LoadedExecutable_Execute_Args, num_devices, sn_pjrt_execute, device_count, pjrt_execute,
     num_devices);
BOTH(LoadedExecutable_Execute_Args, device_complete_events, sn_pjrt_execute, complete, pjrt_execute,
     device_complete_events);
BOTH(LoadedExecutable_Execute_Args, execute_device, sn_pjrt_execute, device, pjrt_execute,
     execute_device);
BOTH(Client_BufferFromHostBuffer_Args, type, sn_pjrt_from_host, type, pjrt_from_host, type);
BOTH(Client_BufferFromHostBuffer_Args, dims, sn_pjrt_from_host, sizes, pjrt_from_host, dims);
BOTH(Client_BufferFromHostBuffer_Args, num_dims, sn_pjrt_from_host, size_count, pjrt_from_host,
     num_dims);
SAME(offsetof(PJRT_Client_BufferFromHostBuffer_Args, buffer),
     offsetof(struct pjrt_from_host, buffer), "the fake's buffer");
BOTH(Buffer_ToHostBuffer_Args, dst, sn_pjrt_to_host, to, pjrt_to_host, dst);
BOTH(Buffer_ToHostBuffer_Args, dst_size, sn_pjrt_to_host, to_bytes, pjrt_to_host, dst_size);
SAME(offsetof(PJRT_Buffer_ToHostBuffer_Args, event), offsetof(struct pjrt_to_host, event),
     "the fake's event");
BOTH(Buffer_CopyRawToHost_Args, transfer_size, sn_pjrt_raw_to_host, transferred_bytes,
     pjrt_raw_to_host, transfer_size);
BOTH(AsyncHostToDeviceTransferManager_TransferData_Args, transfer_size, sn_pjrt_transfer,
     transferred_bytes, pjrt_transfer, transfer_size);
SAME(offsetof(PJRT_AsyncHostToDeviceTransferManager_TransferData_Args, done_with_h2d_transfer),
     offsetof(struct pjrt_transfer, event), "the fake's event");
BOTH(Buffer_CopyToDevice_Args, buffer, sn_pjrt_object, object, pjrt_copy, buffer);
BOTH(Buffer_CopyToMemory_Args, buffer, sn_pjrt_object, object, pjrt_copy, buffer);
SAME(offsetof(PJRT_Client_Create_Args, client), offsetof(struct pjrt_client_create, client),
     "the fake's client");

/* ---- types of elements, of which the adapter knows the bytes ---- */

SAME(PJRT_Buffer_Type_PRED, 1, "PRED");
SAME(PJRT_Buffer_Type_F32, 11, "F32");
SAME(PJRT_Buffer_Type_F64, 12, "F64");
SAME(PJRT_Buffer_Type_BF16, 13, "BF16");
SAME(PJRT_Buffer_Type_C64, 14, "C64");
SAME(PJRT_Buffer_Type_C128, 15, "C128");
SAME(PJRT_Buffer_Type_U4, 22, "U4");
SAME(PJRT_Buffer_Type_TOKEN, 23, "TOKEN");
SAME(PJRT_Buffer_Type_F4E2M1FN, 29, "F4E2M1FN");
