/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin of Oclgrind that counts how often each instruction of a kernel is executed, and the bytes that it loads or stores. When a kernel ends
 * it prints a row for each, in the order of its code: kernel,function,line,instruction,executed,bytes (docs/design/fakes.md). */
#include <oclgrind/Plugin.h>

#include <oclgrind/Context.h>
#include <oclgrind/Kernel.h>
#include <oclgrind/KernelInvocation.h>

#include <cstdio>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <map>
#include <set>

namespace
{

class Lines : public oclgrind::Plugin
{
public:
	using Plugin::Plugin;

	void instructionExecuted(const oclgrind::WorkItem *, const llvm::Instruction *instruction,
				 const oclgrind::TypedValue &) override
	{
		executed[instruction]++;
	}

	void kernelEnd(const oclgrind::KernelInvocation *invocation) override
	{
		const std::string &kernel = invocation->getKernel()->getName();
		std::set<const llvm::Function *> functions;
		for (const auto &[instruction, count] : executed)
			functions.insert(instruction->getFunction());
		for (const llvm::Function *function : functions) {
			for (const llvm::Instruction &instruction : llvm::instructions(*function))
				print(kernel, instruction);
		}
		executed.clear();
	}

	// the counts are those of one thread
	bool isThreadSafe() const override
	{
		return false;
	}

private:
	std::map<const llvm::Instruction *, unsigned long> executed;

	void print(const std::string &kernel, const llvm::Instruction &instruction)
	{
		const auto found = executed.find(&instruction);
		const llvm::DILocation *place = instruction.getDebugLoc();
		if (found == executed.end() || llvm::isa<llvm::DbgInfoIntrinsic>(instruction))
			return;
		const llvm::DataLayout &layout = instruction.getModule()->getDataLayout();
		unsigned long bytes = 0;
		if (llvm::isa<llvm::LoadInst>(instruction))
			bytes = layout.getTypeStoreSize(instruction.getType());
		else if (llvm::isa<llvm::StoreInst>(instruction))
			bytes = layout.getTypeStoreSize(instruction.getOperand(0)->getType());
		const std::string function =
		    place ? place->getScope()->getSubprogram()->getName().str() : instruction.getFunction()->getName().str();
		printf("%s,%s,%u,%s,%lu,%lu\n", kernel.c_str(), function.c_str(), place ? place->getLine() : 0,
		       instruction.getOpcodeName(), found->second, found->second * bytes);
	}
};

} // namespace

extern "C" void initializePlugins(oclgrind::Context *context)
{
	context->registerPlugin(new Lines(context));
}

extern "C" void releasePlugins(oclgrind::Context *)
{
}
