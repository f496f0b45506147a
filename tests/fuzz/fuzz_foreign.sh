#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_foreign.sh [SECONDS]: recordings of other tools, as their importers read them; see fuzz.sh.
. "$(dirname "$0")/fuzz.sh"
python3 "$here/seeds/foreign_seeds.py" corpus
# which no importer takes: it lies in a measurement
cat >corpus/xla-text <<'END'
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
  ROOT %fusion = f32[8]{0} fusion(%x), kind=kLoop, calls=%fused, custom_call_target="own"
}
END
fuzz 32768
