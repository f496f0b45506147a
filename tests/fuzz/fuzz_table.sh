#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_table.sh [SECONDS]: tables of observations, of each kind that is read; see fuzz.sh.
. "$(dirname "$0")/fuzz.sh"
printf 'a,b,c\n1,2,x\n3,,y\n1e5,-,"z"\n' >corpus/plain
printf 'a b\n1  2\n 3 4 \n' >corpus/blanks
printf '\357\273\277"a";"b"\r\n1;2\r\n' >corpus/mark
printf '==PROF== Connected\n"ID","Process ID","Kernel Name","Block Size","Section Name","Metric Name","Metric Unit","Metric Value","Rule Name"\n"0","1","f","(2, 1, 1)","S","Duration","usecond","1,234.5",\n"0","1","f","(2, 1, 1)","S","","","","r"\nx\n"1","1","g","(4, 1, 1)","T","Duration","ns","7",\n' >corpus/details
printf '"ID","Process ID","Kernel Name","Grid Size","t.sum"\n"","","","","Kbyte"\n"0","1","f","(2, 1, 1)","3"\n' >corpus/raw
printf 'Dispatch_Id,Agent_Id,Kernel_Name,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp\n1,A,f,W,3,10,20\n1,A,f,B,4,30,45\n2,A,f,W,5,50,51\n' >corpus/counters
printf 'Index,KernelName,gpu-id,BeginNs,EndNs,W\n0,f,1,5,9,2\n1,f,1,15,19,3\n' >corpus/rocprof
printf '"%s"\n' 'ID' 'Process ID' 'Kernel Name' 'Metric Name' 'Metric Unit' 'Metric Value' 'Section Name' '==PROF== ' '(1, 2, 3)' usecond \
	Kbyte/second cycle/nsecond 1,234.5 Dispatch_Id Agent_Id Counter_Name Counter_Value Start_Timestamp End_Timestamp n/a nan 1e308 >dictionary
fuzz 4000 -dict=dictionary
