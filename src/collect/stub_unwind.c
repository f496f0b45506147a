#include "callpath.h"
#include "module.h"
#include "adapter.h"
#include <stdio.h>
#include <string.h>

void sn_unwinder_release(struct sn_unwinder *u){}
void sn_unwind_set_shadow(bool on){}
static struct sn_unwind_result walk(uintptr_t pc,uintptr_t bp,uintptr_t sp,uintptr_t lo,uintptr_t hi,struct sn_native_frame*f,uint32_t max){
 struct sn_unwind_result r={0}; uint32_t n=0; f[n++]=(struct sn_native_frame){pc,sp,sn_module_find(pc),0};
 while(n<max && bp>=sp && bp+16<=hi && !(bp&7)){ uintptr_t*p=(uintptr_t*)bp; uintptr_t ra=p[1]; if(sn_module_find(ra)==SN_MODULE_NONE)break; f[n++]=(struct sn_native_frame){ra,bp+16,sn_module_find(ra),1}; if(p[0]<=bp)break; bp=p[0];}
 r.count=n; r.complete=true; return r;}
struct sn_unwind_result sn_unwind(struct sn_unwinder*u,const ucontext_t*c,uintptr_t lo,uintptr_t hi,struct sn_native_frame*f,uint32_t max){return walk(c->uc_mcontext.gregs[REG_RIP],c->uc_mcontext.gregs[REG_RBP],c->uc_mcontext.gregs[REG_RSP],lo,hi,f,max);}
struct sn_unwind_result sn_unwind_here(struct sn_unwinder*u,uintptr_t lo,uintptr_t hi,struct sn_native_frame*f,uint32_t max){return walk((uintptr_t)__builtin_return_address(0),(uintptr_t)__builtin_frame_address(0),(uintptr_t)__builtin_frame_address(0),lo,hi,f,max);}
bool sn_torch_operator_frame(uintptr_t pc,struct sn_thread*t,struct sn_frame*f){return 0;}
