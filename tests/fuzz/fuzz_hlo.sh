#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_hlo.sh [SECONDS]: programs of XLA, as text and as protobuf; see fuzz.sh.
. "$(dirname "$0")/fuzz.sh"
cat >corpus/text <<'END'
HloModule jit_f, is_scheduled=true

FileNames
1 "a.py"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=3}

StackFrames
1 {file_location_id=1 parent_frame_id=1}

%fused (a: f32[8]) -> f32[8] {
  %a = f32[8]{0} parameter(0)
  ROOT %sin = f32[8]{0} sine(%a), metadata={op_name="jit(f)/sin" stack_frame_id=1}
}

ENTRY %main (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  ROOT %fusion = (f32[8]{0}) fusion(%x), kind=kLoop, calls=%fused
}
END
printf '\n\001f\032\010\n\001c\022\003\n\001i' >corpus/proto
printf '"%s"\n' 'HloModule ' ' metadata={' 'op_name=' 'stack_frame_id=' ' calls=' ' branch_computations={' 'custom_call_target=' >dictionary
fuzz 4096 -dict=dictionary
