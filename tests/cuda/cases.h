// Case files on the CUDA engine: which cases there are, and what the generator makes of one.
#ifndef TILEVM_TESTS_CUDA_CASES_H_
#define TILEVM_TESTS_CUDA_CASES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu/compile/generate.h"
#include "specializer/ir/kernel.h"
#include "tests/case_file.h"

namespace tilevm::tests {

// Every case of the folders, in order of path. A file that cannot be read is an error. Recipes are not computed.
absl::StatusOr<std::vector<Case>> ReadFolders(const std::vector<std::string>& folders);

// A case down to the typed kernel that both engines get (with --debug, so that asserts are compiled). An error is what the front end, the specializer
// or a pass says of the case.
// static_prints, if given, gets the lines of static_print.
absl::StatusOr<ir::Kernel> KernelOf(const Case& one, int num_warps, std::vector<std::string>* static_prints = nullptr);

// What a launcher may promise for the arguments of the case.
// The text that these arguments get. made_maps: gpu::Promises::made.
absl::StatusOr<gpu::Emitted> EmittedOf(const Case& one, const ir::Kernel& kernel, const gpu::Target& target, bool made_maps = true);
gpu::Promises PromisesOf(const Case& one, const ir::Kernel& kernel);

// Whether both engines promise the same bits: no approximate function, no product or sum of floats in another order.
bool HasSameBits(const ir::Kernel& kernel);

// The text of one kernel made fit to stand beside others in one program: in a namespace of its own, its entry renamed to `entry`. Its head, the lines that say
// what the device headers are to be and include them, is left to the whole.
std::string InNamespace(const gpu::Emitted& emitted, const std::string& entry);
// The head of a program of such texts, all of one head.
std::string ProgramHead(const gpu::Emitted& emitted);
// Numbers of texts that go into one program each: of one head, `most` at most. Neighbours are dealt out, for a folder's heavy cases lie side by side.
std::vector<std::vector<size_t>> ProgramsOf(const std::vector<const gpu::Emitted*>& texts, size_t most);

}  // namespace tilevm::tests

#endif  // TILEVM_TESTS_CUDA_CASES_H_
