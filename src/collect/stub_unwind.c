#include "callpath.h"
#include "module.h"
#include "adapter.h"
#include <stdio.h>
#include <string.h>
static struct sn_module mods[512]; static uint32_t nmods; static char names[512][256];
void sn_unwinder_release(struct sn_unwinder *u){}
void sn_unwind_set_shadow(bool on){}
static struct sn_unwind_result walk(uintptr_t pc,uintptr_t bp,uintptr_t sp,uintptr_t lo,uintptr_t hi,struct sn_native_frame*f,uint32_t max){
 struct sn_unwind_result r={0}; uint32_t n=0; f[n++]=(struct sn_native_frame){pc,sp,sn_module_find(pc),0};
 while(n<max && bp>=sp && bp+16<=hi && !(bp&7)){ uintptr_t*p=(uintptr_t*)bp; uintptr_t ra=p[1]; if(sn_module_find(ra)==SN_MODULE_NONE)break; f[n++]=(struct sn_native_frame){ra,bp+16,sn_module_find(ra),1}; if(p[0]<=bp)break; bp=p[0];}
 r.count=n; r.complete=true; return r;}
struct sn_unwind_result sn_unwind(struct sn_unwinder*u,const ucontext_t*c,uintptr_t lo,uintptr_t hi,struct sn_native_frame*f,uint32_t max){return walk(c->uc_mcontext.gregs[REG_RIP],c->uc_mcontext.gregs[REG_RBP],c->uc_mcontext.gregs[REG_RSP],lo,hi,f,max);}
struct sn_unwind_result sn_unwind_here(struct sn_unwinder*u,uintptr_t lo,uintptr_t hi,struct sn_native_frame*f,uint32_t max){return walk((uintptr_t)__builtin_return_address(0),(uintptr_t)__builtin_frame_address(0),(uintptr_t)__builtin_frame_address(0),lo,hi,f,max);}
int sn_modules_init(void){FILE*m=fopen("/proc/self/maps","r");char line[600];while(fgets(line,600,m)){unsigned long a,b,o;char p[8],path[512]="";int k=sscanf(line,"%lx-%lx %7s %lx %*s %*s %511s",&a,&b,p,&o,path);if(k<5||p[2]!='x'&&0)continue; if(p[2]!='x')continue; strcpy(names[nmods],path);mods[nmods]=(struct sn_module){.start=a,.end=b,.bias=a-o,.path=names[nmods]};nmods++;}fclose(m);return 0;}
void sn_modules_after_fork(void){}
uint32_t sn_module_find(uintptr_t a){for(uint32_t i=0;i<nmods;i++)if(a>=mods[i].start&&a<mods[i].end)return i;return SN_MODULE_NONE;}
uint32_t sn_module_find_or_refresh(uintptr_t a){return sn_module_find(a);}
const struct sn_module*sn_module_at(uint32_t i){return &mods[i];}
uint32_t sn_module_count(void){return nmods;}
uint32_t sn_module_generation(void){return 1;}
void sn_modules_stale(void){}
bool sn_torch_operator_frame(uintptr_t pc,struct sn_thread*t,struct sn_frame*f){return 0;}
uint32_t sn_module_by_name(const char*p,uint32_t from){for(uint32_t i=from;i<nmods;i++){const char*b=strrchr(mods[i].path,'/');b=b?b+1:mods[i].path;if(!strncmp(b,p,strlen(p)))return i;}return SN_MODULE_NONE;}
